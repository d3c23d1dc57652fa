-- What may be wrong with the tables: implausible values, unknown texts, ids that contradict each other, repeated rows, impossible
-- volumes. Counts rows that belong to the cohort's stays and the needed items. Reads item, text, stay and the events.

CREATE TABLE quality AS
WITH signal AS (
    SELECT DISTINCT itemid, signal, system FROM item -- the oxygen item 223835 stands twice in item, for its two units
), kept AS (
    SELECT signal, system, count(*) AS n
    FROM (SELECT itemid FROM chartevents UNION ALL SELECT itemid FROM labevents UNION ALL SELECT itemid FROM outputevents)
    JOIN signal USING (itemid) GROUP BY ALL
), usable AS (
    SELECT signal, system, count(*) AS n
    FROM (SELECT itemid, valuenum AS x FROM chartevents UNION ALL SELECT itemid, valuenum FROM labevents
          UNION ALL SELECT itemid, value FROM outputevents) e JOIN item i USING (itemid)
    WHERE plausible(e.x, i) GROUP BY ALL
), contradicting AS (
    SELECT itemid FROM chartevents ANTI JOIN stay USING (subject_id, hadm_id, icustay_id)
), texts AS (
    SELECT itemid, count(*) AS n, count(*) FILTER (value <> trim(value)) AS padded,
           count(*) FILTER ((itemid, trim(value)) NOT IN (SELECT (itemid, text) FROM text)) AS unknown
    FROM chartevents WHERE itemid IN (SELECT itemid FROM text) AND value IS NOT NULL GROUP BY itemid
), repeated AS (
    SELECT 'vitals, GCS and oxygen in CHARTEVENTS' AS name, sum(n - 1) AS n
    FROM (SELECT count(*) AS n FROM chartevents SEMI JOIN item USING (itemid) GROUP BY icustay_id, itemid, charttime, value, valuenum)
    UNION ALL
    SELECT 'LABEVENTS', sum(n - 1)
    FROM (SELECT count(*) AS n FROM labevents GROUP BY hadm_id, itemid, charttime, value, valuenum)
    UNION ALL
    SELECT 'OUTPUTEVENTS', sum(n - 1)
    FROM (SELECT count(*) AS n FROM outputevents GROUP BY icustay_id, itemid, charttime, value)
)
SELECT 'rows kept' AS "check", signal || ', ' || system AS name, n, 0 AS shown_beside FROM kept
UNION ALL
SELECT 'rows without a plausible value', signal || ', ' || system, k.n - coalesce(u.n, 0), k.n
FROM kept k LEFT JOIN usable u USING (signal, system) WHERE signal NOT IN ('specimen', 'cpap')
UNION ALL
SELECT 'rows whose ids contradict their ICU stay', 'CHARTEVENTS, needed items', count(*), 0 FROM contradicting
UNION ALL
SELECT 'rows whose ids contradict their ICU stay', 'vitals, which are left out', count(*), 0
FROM contradicting SEMI JOIN (FROM item WHERE signal IN ('heart_rate', 'sysbp', 'tempc')) USING (itemid)
UNION ALL
SELECT 'rows whose ids contradict their ICU stay', 'OUTPUTEVENTS, which are left out', count(*), 0
FROM outputevents ANTI JOIN stay USING (subject_id, hadm_id, icustay_id)
UNION ALL
SELECT 'rows with a text not in facts/texts.csv', 'item ' || itemid, unknown, n FROM texts
UNION ALL
SELECT 'rows with blanks around their text, which are cut off', 'item ' || itemid, padded, n FROM texts
UNION ALL
SELECT 'impossible urine rows', 'below 0 mL', count(*) FILTER (value < 0), 0 FROM outputevents
UNION ALL
SELECT 'impossible urine rows', 'above 10,000 mL', count(*) FILTER (value > 10000), 0 FROM outputevents
UNION ALL
SELECT 'repeated rows', name, coalesce(n, 0)::BIGINT, 0 FROM repeated;
