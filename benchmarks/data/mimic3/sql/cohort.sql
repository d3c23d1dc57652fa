-- Rules 1, 3 and the first half of 4 (facts/flow.csv): the first admission of each patient, old enough, with an ICU stay.
-- Reads the raw tables patients, admissions, icustays.
--
-- After the notebooks 0_createAdmissionList, 9_getValidDataset and 9_collect_mortality_labels of Purushotham et al. (2018;
-- github.com/USC-Melady/Benchmarking_DL_MIMICIII, GPL-3: its rules are restated here, its code is not used).

-- The first by ADMITTIME. The notebook's first edition left the order to the database; it was mended in 2020.
CREATE TABLE first_admission AS
SELECT a.subject_id, a.hadm_id, a.admittime, a.admission_type, a.deathtime, p.dob, p.dod, p.dod_hosp
FROM admissions a JOIN patients p USING (subject_id)
QUALIFY row_number() OVER (PARTITION BY a.subject_id ORDER BY a.admittime, a.hadm_id) = 1;

CREATE TABLE old_enough AS
SELECT * FROM first_admission
WHERE epoch(admittime - dob) >= $min_age * 365.25 * 86400;

-- Death: DEATHTIME of any admission (to the minute), else DOD (midnight). Discharge: the last of all admissions.
CREATE TABLE outcome AS
SELECT subject_id, min(deathtime) AS deathtime, max(dischtime) AS last_discharge
FROM admissions GROUP BY subject_id;

-- All ICU stays of those admissions; the earliest is *the* stay.
CREATE TABLE stay AS
SELECT o.subject_id, o.hadm_id, i.icustay_id, i.dbsource, i.intime,
       row_number() OVER (PARTITION BY o.hadm_id ORDER BY i.intime, i.icustay_id) = 1 AS is_first
FROM old_enough o JOIN icustays i USING (subject_id, hadm_id)
WHERE i.intime IS NOT NULL;

CREATE TABLE cohort AS
SELECT c.subject_id, c.hadm_id, s.icustay_id, s.dbsource, c.admittime, s.intime, c.dob, c.admission_type, o.deathtime,
       CASE WHEN c.dod IS NULL THEN NULL WHEN $death_time = 'dod' THEN c.dod ELSE coalesce(o.deathtime, c.dod) END AS death,
       c.dod_hosp IS NOT NULL AS died_in_hospital, c.deathtime IS NOT NULL AS died_here, o.last_discharge
FROM old_enough c JOIN stay s USING (subject_id, hadm_id) JOIN outcome o USING (subject_id)
WHERE s.is_first
ORDER BY c.subject_id;
