-- The measurements as typed, plausible values. Reads stay, item (facts/items.csv) and the events of the big tables.
--
-- Item ids, plausible ranges and conversions are those of the MIMIC Code Repository (Johnson, Stone, Celi, Pollard, JAMIA
-- 2018; github.com/MIT-LCP/mimic-code, MIT licence): concepts/firstday/vitals-first-day.sql, labs-first-day.sql and
-- urine-output-first-day.sql, in the copy of the benchmark by Purushotham, Meng, Che and Liu (J. Biomed. Inform. 2018;
-- github.com/USC-Melady/Benchmarking_DL_MIMICIII, GPL-3: its rules are restated here, its code is not used), which the SODEN
-- authors name as their source. Its sql_gen_17features_ts/gen_{vital,lab,urine_output}_ts.sql drop the end of the first day.

-- x lies in the plausible range of its item i; a bound that is empty in facts/items.csv does not bind.
CREATE MACRO plausible(x, i) AS
    x IS NOT NULL
    AND (i.low IS NULL OR x > i.low OR (i.low_closed AND x = i.low))
    AND (i.high IS NULL OR x < i.high OR (i.high_closed AND x = i.high));

-- Fahrenheit to Celsius; inspired oxygen as a fraction to per cent; irrigant that went in is not urine that came out.
CREATE MACRO converted(x, unit) AS
    CASE unit WHEN 'degF' THEN (x - 32) / 1.8 WHEN 'fraction' THEN 100 * x WHEN 'mL in' THEN -x ELSE x END;

-- Vitals: charted in one of the admission's ICU stays, not before that stay began. All three ids must be the stay's: a row
-- that names the stay with another admission is left out, as in the source (which joins GCS, ventilation, SpO2 and inspired
-- oxygen by the stay alone).
CREATE VIEW vital AS
SELECT s.hadm_id, s.icustay_id, s.is_first, s.intime, e.charttime, i.signal, converted(e.valuenum, i.unit) AS value
FROM chartevents e JOIN item i USING (itemid) JOIN stay s USING (subject_id, hadm_id, icustay_id)
WHERE i.signal IN ('heart_rate', 'sysbp', 'tempc') AND plausible(e.valuenum, i) AND e.charttime >= s.intime;

-- Labs: from six hours before the first ICU stay on, wherever in the hospital they were drawn. A row without HADM_ID (an
-- outpatient's) joins nothing.
CREATE VIEW lab AS
SELECT s.hadm_id, s.intime, e.charttime, i.signal, e.valuenum AS value
FROM labevents e JOIN item i USING (itemid) JOIN stay s USING (subject_id, hadm_id)
WHERE s.is_first AND plausible(e.valuenum, i) AND e.charttime >= s.intime - INTERVAL 6 HOUR
  AND i.signal IN ('bun', 'wbc', 'potassium', 'sodium', 'bicarbonate', 'bilirubin');

-- Urine: no plausible range in the source, so a sum may come out negative.
CREATE VIEW urine AS
SELECT s.hadm_id, s.icustay_id, s.is_first, s.intime, e.charttime, converted(e.value, i.unit) AS value
FROM outputevents e JOIN item i USING (itemid) JOIN stay s USING (subject_id, hadm_id, icustay_id)
WHERE e.charttime >= s.intime AND e.value IS NOT NULL;
