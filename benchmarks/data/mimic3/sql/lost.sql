-- Admissions that get lost in notebook 10_get_17-features-processed of Purushotham et al. (see cohort.sql), by accident.
-- Its views of GCS and of laboratory values join *to* ICUSTAYS, so an ICU stay without any such row gives one without a
-- CHARTTIME; subtracting INTIME from nothing raises an error in a worker process, whose errors nobody collects, and the
-- admission has no file from there on. Hence the rule it obeys without saying so: every ICU stay of the admission has a GCS
-- row at or after its INTIME, and one of the 26 listed laboratory items (facts/lab_list.csv), above 0, at or after
-- INTIME - 6 h. (Vitals, urine and gases cannot lose anybody: their views drop such rows.)
-- Reads stay, gcs_part, labevents, lab_list.

CREATE TABLE lost AS
WITH last_lab AS (
    SELECT subject_id, hadm_id, max(charttime) AS charttime
    FROM labevents JOIN lab_list USING (itemid) WHERE valuenum > 0 GROUP BY ALL
)
SELECT DISTINCT s.hadm_id
FROM stay s LEFT JOIN last_lab l USING (subject_id, hadm_id)
WHERE s.icustay_id NOT IN (SELECT icustay_id FROM gcs_part)
   OR coalesce(l.charttime < s.intime - INTERVAL 6 HOUR, true);
