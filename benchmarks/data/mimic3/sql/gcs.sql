-- The Glasgow Coma Scale per ICU stay and charted time. Reads stay, item, chartevents.
--
-- After concepts/firstday/gcs-first-day.sql of the MIMIC Code Repository (see signals.sql), without an end bound as in the
-- benchmark's gen_gcs_ts.sql. Its idea: a sedated patient's score before sedation is not known, so it counts as normal.

CREATE VIEW gcs_part AS
SELECT s.hadm_id, s.icustay_id, s.is_first, s.intime, e.charttime, i.signal, e.valuenum,
       -- "cannot speak: there is a tube", in the words of CareVue (723) and of MetaVision (223900)
       (e.itemid = 723 AND trim(e.value) = '1.0 ET/Trach')
       OR (e.itemid = 223900 AND trim(e.value) = 'No Response-ETT') AS tube
FROM chartevents e JOIN item i USING (itemid) JOIN stay s USING (icustay_id)
WHERE i.signal IN ('gcs_verbal', 'gcs_motor', 'gcs_eyes') AND e.charttime >= s.intime;

-- Verbal 0 stands for the tube. The total is
--   15 at such a time, and where the verbal part is missing and the row before, less than 6 hours ago, had a tube;
--   else the sum of the parts, a missing one taken from the row before if that is recent and had no tube, else normal
--   (motor 6, verbal 5, eyes 4).
CREATE TABLE gcs AS
WITH charted AS (
    SELECT hadm_id, icustay_id, is_first, intime, charttime,
           max(CASE WHEN coalesce(tube, false) THEN 0 ELSE valuenum END) FILTER (signal = 'gcs_verbal') AS verbal,
           max(valuenum) FILTER (signal = 'gcs_motor') AS motor,
           max(valuenum) FILTER (signal = 'gcs_eyes') AS eyes
    FROM gcs_part GROUP BY ALL
), paired AS (
    SELECT *, lag(charttime) OVER before > charttime - INTERVAL 6 HOUR AS recent,
           lag(verbal) OVER before AS lag_verbal, lag(motor) OVER before AS lag_motor, lag(eyes) OVER before AS lag_eyes
    FROM charted
    WINDOW before AS (PARTITION BY icustay_id ORDER BY charttime)
), carried AS (
    SELECT * EXCLUDE (lag_verbal, lag_motor, lag_eyes),
           CASE WHEN recent THEN lag_verbal END AS prev_verbal,
           CASE WHEN recent THEN lag_motor END AS prev_motor,
           CASE WHEN recent THEN lag_eyes END AS prev_eyes
    FROM paired
)
SELECT hadm_id, icustay_id, is_first, intime, charttime,
       CASE WHEN verbal = 0 OR (verbal IS NULL AND prev_verbal = 0) THEN 15
            WHEN prev_verbal = 0 THEN coalesce(motor, 6) + coalesce(verbal, 5) + coalesce(eyes, 4)
            ELSE coalesce(motor, prev_motor, 6) + coalesce(verbal, prev_verbal, 5) + coalesce(eyes, prev_eyes, 4)
       END AS total
FROM carried;
