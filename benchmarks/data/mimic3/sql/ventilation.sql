-- When the patient was on a ventilator or on CPAP, for the first ICU stays.
-- Reads stay, ventilation (facts/ventilation.csv), item, chartevents, procedureevents_mv.
--
-- After concepts/ventilation-durations.sql of the MIMIC Code Repository (see signals.sql) in the benchmark's copy;
-- CPAP after the same query that makes the 17 features, gen_17features_first24h.sql.

CREATE TABLE ventilation_episode AS
WITH flagged AS (
    -- facts/ventilation.csv says what a row means: "vent" a ventilator at work, "off" breathing without one. Some items
    -- always do, others only with one text (`is`) or with any other text (`not`).
    SELECT e.icustay_id, e.charttime, v.flag
    FROM chartevents e JOIN ventilation v ON v."table" = 'CHARTEVENTS' AND v.itemid = e.itemid
      AND CASE v.value WHEN 'is' THEN trim(e.value) = v.text WHEN 'not' THEN trim(e.value) <> v.text ELSE true END
    WHERE e.value IS NOT NULL
    UNION ALL
    SELECT p.icustay_id, p.starttime, v.flag
    FROM procedureevents_mv p JOIN ventilation v ON v."table" = 'PROCEDUREEVENTS_MV' AND v.itemid = p.itemid
), moment AS (
    SELECT f.icustay_id, f.charttime, bool_or(f.flag = 'vent') AS vent, bool_or(f.flag = 'off') AS "off"
    FROM flagged f JOIN stay s ON s.icustay_id = f.icustay_id AND s.is_first
    GROUP BY ALL
), lagged AS (
    SELECT *, lag("off") OVER before AS previous_off,
           max(CASE WHEN vent THEN charttime END)
               OVER (before ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS previous_vent
    FROM moment
    WINDOW before AS (PARTITION BY icustay_id ORDER BY charttime)
), numbered AS (
    -- A new episode begins with a ventilator row after an "off" row, or more than 8 hours after the last ventilator row.
    -- An "off" row begins none and so stays in the episode before it, which thereby runs on until the next ventilation: a
    -- quirk of the copy the benchmark used, kept because its columns were made with it.
    SELECT icustay_id, charttime,
           sum(CASE WHEN "off" THEN 0
                    WHEN previous_off THEN 1
                    WHEN previous_vent >= charttime - INTERVAL 8 HOUR THEN 0
                    ELSE 1 END) OVER (PARTITION BY icustay_id ORDER BY charttime) AS episode
    FROM lagged
)
-- Episode 0 is what lies before the first ventilation.
SELECT icustay_id, min(charttime) AS starttime, max(charttime) AS endtime
FROM numbered WHERE episode > 0
GROUP BY icustay_id, episode;

-- One window per stay: from an hour before the first mask of the first day to four hours after the last.
CREATE TABLE cpap AS
SELECT s.icustay_id, min(e.charttime) - INTERVAL 1 HOUR AS starttime, max(e.charttime) + INTERVAL 4 HOUR AS endtime
FROM chartevents e JOIN item i USING (itemid) JOIN stay s USING (icustay_id)
WHERE i.signal = 'cpap' AND s.is_first AND e.charttime BETWEEN s.intime AND s.intime + INTERVAL 24 HOUR
  AND (lower(e.value) LIKE '%cpap mask%' OR lower(e.value) LIKE '%bipap mask%')
GROUP BY s.icustay_id;
