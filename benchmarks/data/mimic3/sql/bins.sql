-- MIMIC-SEQ: hourly bins over the whole admission. Reads point, kept.
--
-- After notebook 11_get_time_series_sample_17-features-processed_24hrs (see cohort.sql).

-- Hour 0 begins with the first record, which may lie up to 6 hours before INTIME (labs) or any time after it. In the
-- second case hour 23 ends later than INTIME + 24 h; seq_end = 'intime24' takes nothing from after that moment.
CREATE TABLE timeline AS
WITH limits AS (
    SELECT place, hadm_id, CASE $seq_start WHEN 'intime' THEN intime ELSE first_time END AS start,
           CASE $seq_end WHEN 'intime24' THEN least(last_time, intime + INTERVAL 24 HOUR) ELSE last_time END AS stop
    FROM kept
)
SELECT *, greatest(1, ceil((epoch(stop) - epoch(start)) / 3600))::INT AS bins FROM limits;

-- Bins are closed at both ends, so a time on a boundary is in both (the second half of `numbered`).
CREATE TABLE bin AS
WITH placed AS (
    SELECT t.place, t.bins, p.series, p.value, epoch(p.charttime) - epoch(t.start) AS seconds
    FROM point p JOIN timeline t USING (hadm_id)
    WHERE p.charttime BETWEEN t.start AND t.stop
), numbered AS (
    SELECT place, bins, series, value, floor(seconds / 3600)::INT AS bin FROM placed
    UNION ALL
    SELECT place, bins, series, value, (seconds / 3600)::INT - 1 FROM placed WHERE seconds % 3600 = 0
)
SELECT place, series, bin, exact_mean(value) AS value
FROM numbered WHERE bin >= 0 AND bin < bins
GROUP BY place, series, bin;

-- What fills a series' gaps: the first value (backwards), the mean (urine).
CREATE TABLE fill AS
SELECT place, series, arg_min(value, bin) AS first_value, exact_mean(value) AS mean_value
FROM bin WHERE $impute_window = 'full' OR bin < 24
GROUP BY place, series;

-- The same for PaO2/FiO2: a gas with an FiO2 always has a PaO2. An FiO2 of 0 (charted in CareVue) gives no ratio.
CREATE TABLE first_ratio AS
SELECT place, arg_min(p.value / f.value, f.bin) AS ratio
FROM (FROM bin WHERE series = 'fio2') f JOIN (FROM bin WHERE series = 'pao2') p USING (place, bin)
WHERE f.value <> 0 AND ($impute_window = 'full' OR f.bin < 24)
GROUP BY place;
