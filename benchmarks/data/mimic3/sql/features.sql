-- The columns of MIMIC, one row per admission of the cohort, from [INTIME, INTIME + 24 h]; labs from 6 h earlier on.
--
-- The benchmark's gen_17features_first24h.sql (Purushotham et al., see cohort.sql): what SAPS-II asks for, as worst values.
-- It follows concepts/severityscores/sapsii.sql of the MIMIC Code Repository (see signals.sql).

CREATE TABLE vital_feature AS
SELECT hadm_id,
       max(value) FILTER (signal = 'heart_rate') AS heartrate_max, min(value) FILTER (signal = 'heart_rate') AS heartrate_min,
       max(value) FILTER (signal = 'sysbp') AS sysbp_max, min(value) FILTER (signal = 'sysbp') AS sysbp_min,
       max(value) FILTER (signal = 'tempc') AS tempc_max, min(value) FILTER (signal = 'tempc') AS tempc_min
FROM vital WHERE is_first AND charttime <= intime + INTERVAL 24 HOUR GROUP BY hadm_id;

CREATE TABLE lab_feature AS
SELECT hadm_id,
       min(value) FILTER (signal = 'bun') AS bun_min, max(value) FILTER (signal = 'bun') AS bun_max,
       min(value) FILTER (signal = 'wbc') AS wbc_min, max(value) FILTER (signal = 'wbc') AS wbc_max,
       min(value) FILTER (signal = 'potassium') AS potassium_min, max(value) FILTER (signal = 'potassium') AS potassium_max,
       min(value) FILTER (signal = 'sodium') AS sodium_min, max(value) FILTER (signal = 'sodium') AS sodium_max,
       min(value) FILTER (signal = 'bicarbonate') AS bicarbonate_min, max(value) FILTER (signal = 'bicarbonate') AS bicarbonate_max,
       min(value) FILTER (signal = 'bilirubin') AS bilirubin_min, max(value) FILTER (signal = 'bilirubin') AS bilirubin_max
FROM lab WHERE charttime <= intime + INTERVAL 24 HOUR GROUP BY hadm_id;

CREATE TABLE urine_feature AS
SELECT hadm_id, exact_sum(value) AS urineoutput
FROM urine WHERE is_first AND charttime <= intime + INTERVAL 24 HOUR GROUP BY hadm_id;

CREATE TABLE gcs_feature AS
SELECT hadm_id, min(total) AS mingcs
FROM gcs WHERE is_first AND charttime <= intime + INTERVAL 24 HOUR GROUP BY hadm_id;

-- Only samples drawn on a ventilator or a mask count.
CREATE TABLE gas_feature AS
SELECT g.hadm_id, min(100 * g.pao2 / nullif(g.fio2, 0)) AS pao2fio2_vent_min
FROM gas g
WHERE g.is_first AND g.charttime <= g.intime + INTERVAL 24 HOUR
  AND EXISTS (FROM (FROM ventilation_episode UNION ALL FROM cpap) e
              WHERE e.icustay_id = g.icustay_id AND g.charttime BETWEEN e.starttime AND e.endtime)
GROUP BY g.hadm_id;

-- Comorbidities by ICD-9 codes of the same admission, billed at its end: the source looks ahead here, and so do we. Codes are
-- compared as text: '042' is AIDS, '42' is not.
CREATE TABLE comorbidity AS
SELECT d.hadm_id, bool_or(r.condition = 'aids') AS aids, bool_or(r.condition = 'hem') AS hem, bool_or(r.condition = 'mets') AS mets
FROM diagnoses_icd d JOIN icd9 r ON trim(d.icd9_code) BETWEEN r.low AND r.high
GROUP BY d.hadm_id;

-- Surgical if the first service is one; TRAUM, ORTHO and GYN do not have the letters and count as medical in the source.
CREATE TABLE service AS
SELECT hadm_id, lower(curr_service) LIKE '%surg%' AS surgical
FROM services
QUALIFY row_number() OVER (PARTITION BY hadm_id ORDER BY transfertime, curr_service) = 1;

-- Admission type 0 medical, 1 scheduled surgical, 2 unscheduled surgical. Years of 365.242 days are the source's.
CREATE TABLE feature AS
SELECT c.hadm_id,
       round(date_diff('day', c.dob::DATE, c.intime::DATE) / 365.242, 2) AS age,
       v.* EXCLUDE (hadm_id), g.pao2fio2_vent_min, u.urineoutput, l.* EXCLUDE (hadm_id), s.mingcs,
       coalesce(m.aids, false)::INT AS aids, coalesce(m.hem, false)::INT AS hem, coalesce(m.mets, false)::INT AS mets,
       CASE WHEN NOT coalesce(w.surgical, false) THEN 0 WHEN c.admission_type = 'ELECTIVE' THEN 1 ELSE 2 END AS admissiontype
FROM cohort c
LEFT JOIN vital_feature v USING (hadm_id) LEFT JOIN lab_feature l USING (hadm_id) LEFT JOIN urine_feature u USING (hadm_id)
LEFT JOIN gcs_feature s USING (hadm_id) LEFT JOIN gas_feature g USING (hadm_id) LEFT JOIN comorbidity m USING (hadm_id)
LEFT JOIN service w USING (hadm_id);
