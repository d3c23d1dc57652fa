-- MIMIC-SEQ: hourly bins, closed at both ends (a time on a boundary is in both), over the whole admission.
-- Reads point, kept.

CREATE TABLE timeline AS
SELECT place, hadm_id, start, greatest(1, ceil((epoch(last_time) - epoch(start)) / 3600))::INT AS bins
FROM (SELECT *, CASE $seq_start WHEN 'intime' THEN intime ELSE first_time END AS start FROM kept);

CREATE TABLE bin AS
WITH placed AS (
    SELECT t.place, t.bins, p.series, p.value, epoch(p.charttime) - epoch(t.start) AS seconds
    FROM point p JOIN timeline t USING (hadm_id)
    WHERE p.charttime >= t.start
), numbered AS (
    SELECT place, bins, series, value, floor(seconds / 3600)::INT AS bin FROM placed
    UNION ALL
    SELECT place, bins, series, value, (seconds / 3600)::INT - 1 FROM placed WHERE seconds % 3600 = 0
)
SELECT place, series, bin, favg(value) AS value
FROM numbered WHERE bin >= 0 AND bin < bins
GROUP BY place, series, bin;

-- What fills a series' gaps: the first value (backwards), the mean (urine).
CREATE TABLE fill AS
SELECT place, series, arg_min(value, bin) AS first_value, favg(value) AS mean_value
FROM bin WHERE $impute_window = 'full' OR bin < 24
GROUP BY place, series;

-- The same for PaO2/FiO2: a gas with an FiO2 always has a PaO2. An FiO2 of 0 (charted in CareVue) gives no ratio.
CREATE TABLE first_ratio AS
SELECT place, arg_min(p.value / f.value, f.bin) AS ratio
FROM (FROM bin WHERE series = 'fio2') f JOIN (FROM bin WHERE series = 'pao2') p USING (place, bin)
WHERE f.value <> 0 AND ($impute_window = 'full' OR f.bin < 24)
GROUP BY place;
