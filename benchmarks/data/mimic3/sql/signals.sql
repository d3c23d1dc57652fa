-- The measurements as typed, plausible values. Reads stay, item (facts/items.csv) and the events of the big tables.

-- x in the plausible range of its item; every rule in facts/items.csv is one row of `item`.
CREATE MACRO plausible(x, i) AS
    x IS NOT NULL
    AND (i.low IS NULL OR x > i.low OR (i.low_closed AND x = i.low))
    AND (i.high IS NULL OR x < i.high OR (i.high_closed AND x = i.high));

CREATE MACRO converted(x, unit) AS
    CASE unit WHEN 'degF' THEN (x - 32) / 1.8 WHEN 'fraction' THEN 100 * x WHEN 'mL in' THEN -x ELSE x END;

-- Vitals: charted in one of the admission's ICU stays, not before that stay began.
CREATE VIEW vital AS
SELECT s.hadm_id, s.icustay_id, s.is_first, s.intime, e.charttime, i.signal, converted(e.valuenum, i.unit) AS value
FROM chartevents e JOIN item i USING (itemid) JOIN stay s USING (icustay_id)
WHERE i.signal IN ('heart_rate', 'sysbp', 'tempc') AND plausible(e.valuenum, i) AND e.charttime >= s.intime;

-- Labs: from six hours before the first ICU stay on, wherever they were drawn.
CREATE VIEW lab AS
SELECT s.hadm_id, s.intime, e.charttime, i.signal, e.valuenum AS value
FROM labevents e JOIN item i USING (itemid) JOIN stay s USING (subject_id, hadm_id)
WHERE s.is_first AND plausible(e.valuenum, i) AND e.charttime >= s.intime - INTERVAL 6 HOUR
  AND i.signal IN ('bun', 'wbc', 'potassium', 'sodium', 'bicarbonate', 'bilirubin');

CREATE VIEW urine AS
SELECT s.hadm_id, s.icustay_id, s.is_first, s.intime, e.charttime, converted(e.value, i.unit) AS value
FROM outputevents e JOIN item i USING (itemid) JOIN stay s USING (subject_id, hadm_id, icustay_id)
WHERE e.charttime >= s.intime AND e.value IS NOT NULL;
