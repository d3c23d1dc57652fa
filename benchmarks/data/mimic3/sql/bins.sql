-- MIMIC-SEQ: hourly bins, closed at both ends (a time on a boundary is in both), over the whole admission.
-- Reads point, kept.

CREATE TABLE bin AS
WITH started AS (
    SELECT place, hadm_id, last_time, CASE $seq_start WHEN 'intime' THEN intime ELSE first_time END AS start FROM kept
), placed AS (
    SELECT s.place, p.series, p.value, epoch(p.charttime) - epoch(s.start) AS seconds,
           greatest(1, ceil((epoch(s.last_time) - epoch(s.start)) / 3600)) AS bins
    FROM point p JOIN started s USING (hadm_id)
    WHERE p.charttime >= s.start
), numbered AS (
    SELECT place, series, value, bins, floor(seconds / 3600)::INT AS bin FROM placed
    UNION ALL
    SELECT place, series, value, bins, (seconds / 3600)::INT - 1 FROM placed WHERE seconds % 3600 = 0
)
SELECT place, series, bin, favg(value) AS value
FROM numbered WHERE bin >= 0 AND bin < bins
GROUP BY place, series, bin;

-- How many bins each admission has: those beyond repeat the last.
CREATE TABLE bins AS
SELECT place, greatest(1, ceil((epoch(last_time) - epoch(CASE $seq_start WHEN 'intime' THEN intime ELSE first_time END)) / 3600))::INT AS bins
FROM kept;

-- What fills a series' gaps: the first value (backwards), the mean (urine).
CREATE TABLE fill AS
SELECT place, series, arg_min(value, bin) AS first_value, favg(value) AS mean_value
FROM bin WHERE $impute_window = 'full' OR bin < 24
GROUP BY place, series;
