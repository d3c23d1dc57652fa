-- Outcomes, and what rules 4 to 7 ask of each admission. Reads cohort, clock.

CREATE TABLE labelled AS
WITH dated AS (
    SELECT c.*, k.* EXCLUDE (hadm_id),
           c.death IS NOT NULL AND (c.died_in_hospital OR NOT $censor_without_dod_hosp) AS event,
           CASE $origin WHEN 'admittime' THEN c.admittime ELSE c.intime END AS time_zero
    FROM cohort c JOIN clock k USING (hadm_id)
), timed AS (
    SELECT *, (epoch(CASE WHEN event THEN death ELSE last_discharge END) - epoch(time_zero)) / ($days_per_year * 86400) AS time
    FROM dated
)
SELECT * EXCLUDE (span, span_without_gases),
       NOT $span_rule OR span > 24 * 3600 AS spans,
       NOT $span_rule OR coalesce(span_without_gases, 0) > 24 * 3600 AS spans_without_gases,
       death IS NULL OR epoch(death) - epoch(intime) > 24 * 3600 AS survives,
       coalesce(time > 0, false) AS followed
FROM timed;

CREATE TABLE kept AS
SELECT * EXCLUDE (spans, spans_without_gases, survives, followed), row_number() OVER (ORDER BY subject_id) - 1 AS place
FROM labelled WHERE spans AND survives AND followed;
