-- Sums and means that do not depend on the order of the rows, and so not on the number of threads: a double of size 1 or
-- more is a whole number of units of 2^-52, and whole numbers add exactly. Below 1 a value is rounded to that unit.
CREATE MACRO exact_sum(x) AS sum((x * 4503599627370496)::HUGEINT)::DOUBLE / 4503599627370496;

CREATE MACRO exact_mean(x) AS exact_sum(x) / count(x);
