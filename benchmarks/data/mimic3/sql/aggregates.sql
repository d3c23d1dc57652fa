-- What Johnson et al. (Scientific Data 3, 160035, 2016) print about the adults of MIMIC-III: aged 16 or more at the ICU stay.
-- Reads the raw tables patients, admissions, icustays; the names are those of facts/aggregates.csv.

CREATE TABLE adult AS
SELECT i.subject_id, i.hadm_id, epoch(i.outtime - i.intime) / 86400 AS icu_days, epoch(i.intime - p.dob) / (365.25 * 86400) AS age,
       p.gender
FROM icustays i JOIN patients p USING (subject_id)
WHERE epoch(i.intime - p.dob) >= 16 * 365.25 * 86400;

CREATE TABLE aggregate AS
WITH admission AS (
    SELECT a.hadm_id, epoch(a.dischtime - a.admittime) / 86400 AS days, a.deathtime IS NOT NULL AS died,
           bool_or(s.gender = 'M') AS male, min(s.age) AS age
    FROM admissions a JOIN adult s USING (hadm_id) GROUP BY ALL
)
SELECT 'patients' AS name, count(DISTINCT subject_id)::DOUBLE AS value FROM adult
UNION ALL SELECT 'hospital admissions', count(*) FROM admission
UNION ALL SELECT 'ICU stays', count(*) FROM adult
UNION ALL SELECT 'male share of admissions', avg(male::INT) FROM admission
UNION ALL SELECT 'median age', median(age) FROM admission
UNION ALL SELECT 'deaths in hospital per admission', avg(died::INT) FROM admission
UNION ALL SELECT 'median days in ICU', median(icu_days) FROM adult
UNION ALL SELECT 'median days in hospital', median(days) FROM admission;
