-- Outcomes, and what rules 4 to 8 of facts/flow.csv ask of each admission. Reads cohort, clock, lost.

CREATE TABLE labelled AS
WITH dated AS (
    SELECT c.*, k.* EXCLUDE (hadm_id), c.hadm_id IN (SELECT hadm_id FROM lost) AS is_lost,
           c.death IS NOT NULL AND (c.died_in_hospital OR NOT $censor_without_dod_hosp) AS event,
           CASE $origin WHEN 'admittime' THEN c.admittime ELSE c.intime END AS time_zero,
           -- Whose clock says who lived for 24 hours: the time of death that is also the outcome, or DEATHTIME alone.
           CASE $alive_by WHEN 'deathtime' THEN c.deathtime ELSE c.death END AS dead_by
    FROM cohort c JOIN clock k USING (hadm_id)
), timed AS (
    SELECT *, (epoch(CASE WHEN event THEN death ELSE last_discharge END) - epoch(time_zero)) / ($days_per_year * 86400) AS time
    FROM dated
)
SELECT * EXCLUDE (deathtime, dead_by),
       $lost_admissions = 'keep' OR NOT is_lost AS recorded,
       NOT $span_rule OR span > 24 * 3600 AS spans,
       dead_by IS NULL OR epoch(dead_by) - epoch(intime) > 24 * 3600 AS survives,
       coalesce(time > 0, false) AS followed
FROM timed;

CREATE TABLE kept AS
SELECT * EXCLUDE (is_lost, died_here, span, recorded, spans, survives, followed),
       row_number() OVER (ORDER BY subject_id) - 1 AS place
FROM labelled WHERE recorded AND spans AND survives AND followed;
