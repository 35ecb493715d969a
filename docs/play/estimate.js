// From how often each answer was reported to shares with ranges: the raw estimate, and the posterior under a flat prior.
//
// A report names its sender's answer with probability p, and any given other one with q. Among n people with shares f, the
// counts c have expectation n(q + (p - q) f) and covariance
//
//     n (diag(m) - q² - q (p - q) (f_i + f_j)),     m_i = q + (p - q) f_i - (p - q)² f_i
//
// so raw_i = (c_i / n - q) / (p - q) is right on average. The posterior is a Gaussian around raw, with that covariance at
// the likeliest shares, cut off where a share would be negative. A Gibbs sampler draws from it: it takes two answers and
// moves some share from one to the other, which is a Gaussian draw between two bounds.

const SWEEPS = 1000, BURN_IN = 50, LEVEL = 0.9, DEVIATIONS = 1.6448536269514722;

/**
 * @param {number[]} counts how many reports name each answer
 * @param {number} p
 * @param {number} q
 */
export function estimate(counts, p, q) {
  const n = counts.reduce((sum, count) => sum + count, 0);
  const raw = counts.map((count) => (count / n - q) / (p - q));
  const start = onSimplex(raw);
  const covariance = noise(start, n, p, q);
  const margins = covariance.map((row, i) => DEVIATIONS * Math.sqrt(row[i]));
  const draws = posterior(raw, covariance, start, generator(n));
  const sorted = raw.map((_, i) => draws.map((draw) => draw[i]).sort((a, b) => a - b));
  return {
    raw: raw.map((share, i) => ({ share, low: share - margins[i], high: share + margins[i] })),
    corrected: sorted.map((values) => ({
      share: values.reduce((sum, value) => sum + value, 0) / values.length,
      ...shortest(values),
    })),
  };
}

/** The shortest range with 90% of the sorted draws. If it begins among the lowest of them, it begins at 0. */
function shortest(values) {
  const inside = Math.ceil(LEVEL * values.length);
  let first = 0;
  for (let i = 0; i + inside <= values.length; i++) {
    if (values[i + inside - 1] - values[i] < values[first + inside - 1] - values[first]) first = i;
  }
  return { low: first < 0.02 * values.length ? 0 : values[first], high: values[first + inside - 1] };
}

/** The covariance of the raw shares, if these are the true ones. */
function noise(shares, n, p, q) {
  const step = p - q;
  return shares.map((one, i) =>
    shares.map((other, j) => {
      const common = -q * q - q * step * (one + other);
      return (common + (i === j ? q + step * one - step * step * one : 0)) / (n * step * step);
    }),
  );
}

/** The nearest shares that are not negative and add up to 1: subtract a constant, and set what is below zero to zero. */
function onSimplex(shares) {
  const sorted = [...shares].sort((a, b) => b - a);
  let sum = 0, excess = 0;
  sorted.forEach((share, i) => {
    sum += share;
    if (share > (sum - 1) / (i + 1)) excess = (sum - 1) / (i + 1);
  });
  return shares.map((share) => Math.max(0, share - excess));
}

/** Draws from the Gaussian around `raw`, cut off at zero. */
function posterior(raw, covariance, start, uniform) {
  const last = raw.length - 1; // shares add up to 1, so the last one says nothing new
  const precision = inverse(covariance.slice(0, last).map((row) => row.slice(0, last)));
  const weight = (i, j) => (i < last && j < last ? precision[i][j] : 0);
  const shares = [...start];
  const pull = raw.map((_, i) => raw.reduce((sum, __, j) => sum + weight(i, j) * (shares[j] - raw[j]), 0));
  const draws = [];
  for (let sweep = -BURN_IN; sweep < SWEEPS; sweep++) {
    for (let i = 0; i < raw.length; i++) {
      for (let j = 0; j < i; j++) {
        const curvature = weight(i, i) + weight(j, j) - 2 * weight(i, j);
        const middle = -(pull[i] - pull[j]) / curvature, scale = 1 / Math.sqrt(curvature);
        const move = middle + scale * between((-shares[i] - middle) / scale, (shares[j] - middle) / scale, uniform);
        const moved = Math.min(Math.max(move, -shares[i]), shares[j]); // rounding
        shares[i] += moved;
        shares[j] -= moved;
        pull.forEach((_, k) => (pull[k] += moved * (weight(k, i) - weight(k, j))));
      }
    }
    if (sweep >= 0) draws.push([...shares]);
  }
  return draws;
}

/** A standard Gaussian draw between two bounds, by rejection (C. P. Robert, Statistics and Computing 1995). */
export function between(low, high, uniform) {
  if (high < 0) return -between(-high, -low, uniform);
  const width = high - low;
  if (low <= 0 && width < 2.5) {
    for (;;) {
      const x = low + width * uniform();
      if (uniform() < Math.exp(-x * x / 2)) return x;
    }
  }
  if (low <= 0) {
    for (;;) {
      const x = Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
      if (x >= low && x <= high) return x;
    }
  }
  const rate = (low + Math.sqrt(low * low + 4)) / 2;
  for (;;) {
    const x = low - Math.log(1 - uniform() * (1 - Math.exp(-rate * width))) / rate;
    if (uniform() < Math.exp(-((x - rate) ** 2) / 2)) return x;
  }
}

/** The inverse of a positive definite matrix, by Gauss and Jordan. */
function inverse(matrix) {
  const size = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let i = 0; i < size; i++) {
    const pivot = rows[i][i];
    rows[i] = rows[i].map((value) => value / pivot);
    rows.forEach((row, k) => {
      if (k !== i) rows[k] = row.map((value, j) => value - row[i] * rows[i][j]);
    });
  }
  return rows.map((row) => row.slice(size));
}

/** Numbers between 0 and 1 for the sampler, the same every time, so that the same reports give the same figures (mulberry32). */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
