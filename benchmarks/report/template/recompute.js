"use strict";
// What a reader can compute again from the scores per split: means, standard errors, paired t-tests, marks and ranks.
// No page is needed here; a test compares each number with the Python that made the tables.

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// Variance with n - 1 below the line.
function variance(values) {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
}

// P(|T| > |t|) for Student's t with a whole number of degrees of freedom, in closed form (Abramowitz and Stegun 26.7).
function twoSided(t, degrees) {
  if (!Number.isFinite(t)) return Number.isNaN(t) ? NaN : 0;
  const angle = Math.atan(Math.abs(t) / Math.sqrt(degrees)), cosine = Math.cos(angle), odd = degrees % 2 === 1;
  let term = odd ? cosine : 1, sum = degrees === 1 ? 0 : term;
  for (let k = odd ? 3 : 2; k < degrees; k += 2) {
    term *= (cosine * cosine * (k - 1)) / k;
    sum += term;
  }
  const inside = odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
  return Math.max(0, 1 - inside);
}

// Paired two-sided t-test: plain, and with the variance corrected for overlapping training parts.
function pairedT(differences, testToTrain) {
  const n = differences.length;
  if (n < 2) return { plain: NaN, corrected: NaN };
  if (differences.every((value) => value === 0)) return { plain: 1, corrected: 1 };
  const centre = mean(differences), spread = variance(differences);
  const p = (factor) => twoSided(centre / Math.sqrt(factor * spread), n - 1);
  return { plain: p(1 / n), corrected: p(1 / n + testToTrain) };
}

// A cell from a model's scores by split and those of the model it is tested against (null: a split without a score).
function summary(values, reference, testToTrain) {
  const there = values.filter((value) => value !== null), n = there.length;
  const both = (reference ?? []).map((other, k) => [values[k], other]).filter(([a, b]) => a !== null && b !== null);
  const tests = pairedT(both.map(([a, b]) => a - b), testToTrain);
  return {
    n,
    mean: n ? mean(there) : NaN,
    standardError: n > 1 ? Math.sqrt(variance(there) / n) : NaN,
    plain: reference ? tests.plain : NaN,
    corrected: reference ? tests.corrected : NaN,
  };
}

// Rank of each mean among those of its column, 1 is best, by the mean as printed: what nobody sees is no difference.
function ranks(means, higherIsBetter) {
  const printed = means.map((value) => (Number.isNaN(value) ? NaN : Number(value.toFixed(3))));
  const better = (a, b) => (higherIsBetter ? a > b : a < b);
  return printed.map((own) => (Number.isNaN(own) ? NaN : 1 + printed.filter((other) => better(other, own)).length));
}
