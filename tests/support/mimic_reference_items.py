"""Item ids, texts, bounds and coefficients that the slow reference uses: typed in again, not read from the build's."""

HEART, SYSBP = {211, 220045}, {51, 442, 455, 6701, 220050, 220179}
TEMP_F, TEMP_C, SPO2 = {678, 223761}, {676, 223762}, {646, 220277}
VERBAL, MOTOR, EYES = {723, 223900}, {454, 223901}, {184, 220739}
FIO2 = {223835, 3420, 3422, 190}
LABS = {  # name: (items, upper bound)
    "bun": ({51006}, 300),
    "wbc": ({51300, 51301}, 1000),
    "bicarbonate": ({50882}, 10000),
    "sodium": ({50824, 50983}, 200),
    "potassium": ({50822, 50971}, 30),
    "bilirubin": ({50885}, 150),
}
URINE = {40055, 43175, 40069, 40094, 40715, 40473, 40085, 40057, 40056, 40405, 40428, 40086, 40096, 40651}
URINE |= {226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567, 226557, 226558, 227489, 227488}
# blood gas item: (coefficient, mean, shift) of the arterial classifier
GAS = {
    50801: (-0.00200, 442.21186, -0.01328),
    50803: (-0.03220, 22.96894, -0.06535),
    50811: (0.10559, 10.32307, 0.05954),
    50804: (0.05384, 24.72632, -0.01405),
    50817: (0.13251, 93.66539, -0.23172),
    50813: (0.08202, 3.06436, 0.06038),
    50818: (-0.01511, 42.08866, -0.01630),
    50820: (0.10956, 7.36233, -0.00617),
    50816: (0.01480, 63.97836, -0.31142),
    50815: (0.00848, 7.59362, -0.35803),
}
GAS_TOP = {50816: 100, 50817: 100, 50815: 70, 50821: 800}
VENT = {445, 448, 449, 450, 1340, 1486, 1600, 224687, 639, 654, 681, 682, 683, 684, 224684, 224685, 224686}
VENT |= {218, 436, 444, 535, 224695, 224696, 224697, 224746, 224747, 221, 1, 1211, 1655, 2000, 226873, 224738, 224419}
VENT |= {224750, 227187, 543, 5865, 5866, 224705, 224706, 224707, 224709, 60, 437, 505, 506, 686, 220339, 224700, 3459}
VENT |= {501, 502, 503, 224702, 223, *range(667, 673), 157, 158, 1852, *range(3398, 3405), 8382, 227809, 227810, 224701}
OFF = {
    640: "Extubated|Self Extubation",
    226732: "Nasal cannula|Face tent|Aerosol-cool|Trach mask|High flow neb|Non-rebreather|Venti mask|Medium conc mask|"
    "T-piece|High flow nasal cannula|Ultrasonic neb|Vapomist",
    467: "Cannula|Nasal Cannula|None|Face Tent|Aerosol-Cool|Trach Mask|Hi Flow Neb|Non-Rebreather|Venti Mask|"
    "Medium Conc Mask|Vapotherm|T-Piece|Hood|Hut|TranstrachealCat|Heated Neb|Ultrasonic Neb",
}
EXTUBATION = {227194, 225468, 225477}
CHARTED = HEART | SYSBP | TEMP_F | TEMP_C | SPO2 | VERBAL | MOTOR | EYES | FIO2 | VENT | {720, 223848, 223849}
CHARTED |= {467, 469, 640, 648, 226732}
TESTED = set(GAS) | {50800, 50821}.union(*(items for items, _ in LABS.values()))
# The laboratory items the notebook's view lists, whatever they are used for.
LISTED = {
    50868,
    50862,
    51144,
    50882,
    50885,
    50912,
    50902,
    50806,
    50931,
    50809,
    51221,
    50810,
    51222,
    50811,
    50813,
    51265,
}
LISTED |= {50971, 50822, 51275, 51237, 51274, 50983, 50824, 51006, 51301, 51300}
TESTED |= LISTED

SERIES = (
    "gcs_verbal gcs_motor gcs_eyes sysbp heart_rate tempc pao2 fio2 urine "
    "bun wbc bicarbonate sodium potassium bilirubin"
)
COLUMNS = (
    "age heartrate_max heartrate_min sysbp_max sysbp_min tempc_max tempc_min pao2fio2_vent_min urineoutput "
    "bun_min bun_max wbc_min wbc_max potassium_min potassium_max sodium_min sodium_max "
    "bicarbonate_min bicarbonate_max bilirubin_min bilirubin_max mingcs aids hem mets admissiontype"
)
