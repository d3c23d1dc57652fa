-- Arterial blood gases with their inspired oxygen, per ICU stay of the admission.
-- Reads stay, item, labevents, chartevents; {arterial} is the sum of terms made from facts/arterial.csv.
--
-- After concepts/firstday/blood-gas-first-day.sql and blood-gas-first-day-arterial.sql of the MIMIC Code Repository (see
-- signals.sql), without an end bound as in the benchmark's gen_pao2_fio2.sql.

-- One row per drawn sample with a PaO2; where an item was reported twice at one time, the larger value.
CREATE TABLE drawn AS
SELECT s.hadm_id, s.icustay_id, s.is_first, s.intime, e.charttime,
       max(trim(e.value)) FILTER (i.signal = 'specimen') AS specimen,
       max(e.valuenum) FILTER (i.signal = 'pao2') AS pao2,
       {gas_columns}
FROM labevents e JOIN item i USING (itemid) JOIN stay s USING (subject_id, hadm_id)
WHERE e.charttime >= s.intime - INTERVAL 6 HOUR AND (i.signal = 'specimen' OR plausible(e.valuenum, i))
GROUP BY ALL
HAVING max(e.valuenum) FILTER (i.signal = 'pao2') IS NOT NULL;

-- SpO2 and inspired oxygen at the bedside. A row whose value is not plausible stays, empty: below the latest *row* counts,
-- and an empty one hides an older good one, as in the source.
CREATE TABLE inspired AS
SELECT e.icustay_id, e.charttime, i.signal, max(CASE WHEN plausible(e.valuenum, i) THEN converted(e.valuenum, i.unit) END) AS value
FROM chartevents e JOIN item i USING (itemid)
WHERE i.signal IN ('spo2', 'chart_fio2')
GROUP BY ALL;

-- Each sample gets the latest SpO2 of the 2 hours before it and the latest charted FiO2 of the 4 hours before it.
CREATE TABLE gas AS
WITH with_spo2 AS (
    SELECT g.*, CASE WHEN h.charttime >= g.charttime - INTERVAL 2 HOUR THEN h.value END AS spo2
    FROM drawn g ASOF LEFT JOIN (FROM inspired WHERE signal = 'spo2') h
      ON g.icustay_id = h.icustay_id AND g.charttime >= h.charttime
), with_fio2 AS (
    SELECT g.*, CASE WHEN h.charttime >= g.charttime - INTERVAL 4 HOUR THEN h.value END AS chart_fio2
    FROM with_spo2 g ASOF LEFT JOIN (FROM inspired WHERE signal = 'chart_fio2') h
      ON g.icustay_id = h.icustay_id AND g.charttime >= h.charttime
)
SELECT hadm_id, icustay_id, is_first, intime, charttime, pao2, coalesce(lab_fio2, chart_fio2) AS fio2
FROM with_fio2
-- Arterial: said so, or taken for it by the repository's logistic regression with probability above 0.75. A sample that is
-- called venous but looks arterial passes as well: the source asks "or".
WHERE specimen = 'ART' OR 1 / (1 + exp(-({arterial}))) > 0.75;
