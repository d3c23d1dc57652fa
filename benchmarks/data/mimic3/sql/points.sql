-- MIMIC-SEQ: the value of each series at each time of the admission (all its ICU stays together, no end bound).
--
-- Rules for several values at one time after notebook 10_get_17-features-processed (see cohort.sql) and the views it reads,
-- sql_gen_17features_ts/: the mean of vitals and gases, the lowest lab, the highest GCS; urine is summed per ICU stay first.

CREATE TABLE point AS
SELECT hadm_id, charttime, signal AS series, exact_mean(value) AS value FROM vital GROUP BY ALL
UNION ALL
SELECT hadm_id, charttime, signal, min(value) FROM lab GROUP BY ALL
UNION ALL
SELECT hadm_id, charttime, 'urine', exact_mean(value)
FROM (SELECT hadm_id, icustay_id, charttime, exact_sum(value) AS value FROM urine GROUP BY ALL) GROUP BY hadm_id, charttime
UNION ALL
SELECT hadm_id, charttime, signal, max(valuenum) FROM gcs_part WHERE valuenum IS NOT NULL GROUP BY ALL
UNION ALL
SELECT hadm_id, charttime, 'gcs', max(total) FROM gcs GROUP BY hadm_id, charttime
UNION ALL
SELECT hadm_id, charttime, 'pao2', exact_mean(pao2) FROM gas GROUP BY hadm_id, charttime
UNION ALL
SELECT hadm_id, charttime, 'fio2', exact_mean(fio2) FROM gas WHERE fio2 IS NOT NULL GROUP BY hadm_id, charttime;

-- The clock of each admission: its first and last time, and the seconds between them.
CREATE TABLE clock AS
SELECT hadm_id, min(charttime) AS first_time, max(charttime) AS last_time,
       epoch(max(charttime)) - epoch(min(charttime)) AS span
FROM point GROUP BY hadm_id;
