// Draws a token from logits. A library of its own, loaded when text is first drawn.
//
// The tokens in order, likeliest first and the lower id first among equals, each with a weight in
// units of 2^-40 of the best one's: that is all there is to it, and it is how the reference in
// linnet/nest/drawing.py does it. Weights are integers, so a sum of them is exact in any order,
// and nothing needs to be sorted to find where the running sum passes a number: bins of logits
// tell the bin it happens in, and only the tokens of that bin are looked at again.

#include <stdint.h>
#include <string.h>

#define BINS 1024       // of the distance from the best logit
#define COPIES 4        // of each bin: neighbours that fall into one bin need not wait
#define FEW 48          // tokens that are sorted rather than put into bins once more
#define ZOOMS 3         // how often bins are made finer where most tokens are
#define BLOCK 64        // tokens that are passed over at once
#define NOWHERE BINS    // the bin of tokens without a weight
#define FEWER 4         // a shortlist is worth while if it has this part of all tokens at most
#define LOWEST (-40.0f) // the least exponent: its weight is 0

struct bin {
  int64_t weight, count;
};

// Memory that a caller keeps for `size` tokens; see linnet_sample_bytes.
struct work {
  int64_t *weights;
  float *distances;
  float *powers;
  float *chosen;
  int32_t *chosen_ids, *ids;
  uint16_t *places;
  struct bin bins[(BINS + 1) * COPIES];
};

// The first token at which a sum over the tokens in order reaches a number, and that sum.
struct found {
  int64_t id, weight;
};

// 2^40 e^x for x from LOWEST to 0, not yet whole. No fused operations: numpy gives the same bits.
static inline float power(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // the sum rounds to a whole number
  const float whole = shifted - 12582912.0f;
  const float r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
  float p = 1.98412698e-4f;                              // 1 / 7!
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t bits = ((int32_t)whole + 127 + 40) << 23;
  float scale;
  memcpy(&scale, &bits, 4);
  return p * scale;
}

// The nearest whole number, read from the digits of a sum: the loop has no slow conversion then.
static inline int64_t rounded(float x) {
  const double sum = (double)x + 4503599627370496.0;  // 2^52
  int64_t bits;
  memcpy(&bits, &sum, 8);
  return bits & 0xfffffffffffff;
}

// Distances and weights of all tokens; the largest distance of one that has a weight.
static float weigh(struct work *k, const float *restrict logits, int64_t size, float top,
                   float inverse) {
  float *restrict distances = k->distances, *restrict powers = k->powers;
  int64_t *restrict weights = k->weights;
  int32_t furthest = 0;  // as bits, see spread
  for (int64_t i = 0; i < size; ++i) {
    const float distance = top - logits[i], x = -distance * inverse;
    distances[i] = distance;
    powers[i] = power(distance <= 3.0e38f && x > LOWEST ? x : LOWEST);
    int32_t bits;
    memcpy(&bits, &distance, 4);
    bits = powers[i] > 0.5f ? bits : 0;
    furthest = bits > furthest ? bits : furthest;
  }
  for (int64_t i = 0; i < size; ++i) weights[i] = rounded(powers[i]);
  float result;
  memcpy(&result, &furthest, 4);
  return result;
}

// Puts all tokens into bins by their distance: fine ones from `nearest` to `furthest`, the first
// for what lies nearer and the last for what lies further away.
static void put(struct work *k, int64_t size, float nearest, float furthest) {
  const float scale = (BINS - 3) / (furthest - nearest);
  const float *restrict distances = k->distances, *restrict powers = k->powers;
  uint16_t *restrict places = k->places;
  const int64_t *restrict weights = k->weights;
  for (int64_t i = 0; i < size; ++i) {
    const float inside = (distances[i] - nearest) * scale;
    const float place = inside < 0 ? 0.0f : inside < BINS - 3 ? 1 + inside : BINS - 2;
    const int32_t bin = (int32_t)place + (distances[i] > furthest);
    places[i] = (uint16_t)(powers[i] > 0.5f ? bin : NOWHERE);
  }
  memset(k->bins, 0, sizeof k->bins);
  for (int64_t i = 0; i < size; ++i) {
    struct bin *bin = &k->bins[places[i] * COPIES + i % COPIES];
    bin->weight += weights[i];
    bin->count += 1;
  }
  for (int64_t b = 0; b < BINS; ++b)
    for (int64_t c = 1; c < COPIES; ++c) {
      k->bins[b * COPIES].weight += k->bins[b * COPIES + c].weight;
      k->bins[b * COPIES].count += k->bins[b * COPIES + c].count;
    }
}

// Puts all tokens that have a weight into the first bin: they are equals.
static void put_equals(struct work *k, int64_t size) {
  const float *restrict powers = k->powers;
  uint16_t *restrict places = k->places;
  int64_t count = 0;
  for (int64_t i = 0; i < size; ++i) count += powers[i] > 0.5f;
  for (int64_t i = 0; i < size; ++i) places[i] = (uint16_t)(powers[i] > 0.5f ? 0 : NOWHERE);
  memset(k->bins, 0, sizeof k->bins);
  k->bins[0] = (struct bin){count << 40, count};
}

// The fullest bin if it holds more than a quarter of all, else -1.
static int64_t crowded(const struct bin *bins) {
  int64_t all = 0, fullest = 0;
  for (int64_t b = 0; b < BINS; ++b) {
    all += bins[b * COPIES].count;
    if (bins[b * COPIES].count > bins[fullest * COPIES].count) fullest = b;
  }
  return bins[fullest * COPIES].count > all / 4 ? fullest : -1;
}

// The smallest and the largest distance in a bin.
static void spread(const struct work *k, int64_t size, uint16_t place, float *nearest,
                   float *furthest) {
  // Distances are not negative: as whole numbers their bits are in the same order.
  const int32_t *restrict bits = (const int32_t *)k->distances;
  const uint16_t *restrict places = k->places;
  int32_t low = INT32_MAX, high = 0;
  for (int64_t i = 0; i < size; ++i) {
    const int32_t in = -(int32_t)(places[i] == place);  // all bits or none
    const int32_t least = bits[i] | (~in & INT32_MAX), most = bits[i] & in;
    low = least < low ? least : low;
    high = most > high ? most : high;
  }
  memcpy(nearest, &low, 4);
  memcpy(furthest, &high, 4);
}

// Chooses bins that tell the tokens apart, for a few strange distributions in several steps.
static void put_all(struct work *k, int64_t size, float furthest) {
  if (furthest == 0.0f) {
    put_equals(k, size);
    return;
  }
  float nearest = 0.0f;
  put(k, size, nearest, furthest);
  for (int step = 0; step < ZOOMS; ++step) {
    const int64_t place = crowded(k->bins);
    if (place < 0) return;
    spread(k, size, (uint16_t)place, &nearest, &furthest);
    if (nearest == furthest) return;
    put(k, size, nearest, furthest);
  }
}

// The bin in which the sum of weights or of counts reaches `goal`, the last if none does. `before`
// is what the bins in front of it hold.
static int64_t bin_of(const struct bin *bins, int64_t stride, int by_weight, int64_t goal,
                      struct bin *before) {
  *before = (struct bin){0, 0};
  for (int64_t b = 0; b < BINS - 1; ++b) {
    const struct bin bin = bins[b * stride];
    if ((by_weight ? before->weight + bin.weight : before->count + bin.count) >= goal) return b;
    before->weight += bin.weight;
    before->count += bin.count;
  }
  return BINS - 1;
}

// Where the block that begins at `start` ends.
static inline int64_t end_of(int64_t start, int64_t size) {
  return start + BLOCK < size ? start + BLOCK : size;
}

// How many tokens of a block are in a bin.
static inline int64_t count_in(const struct work *k, int64_t start, int64_t end, uint16_t place) {
  uint16_t count = 0;
  for (int64_t i = start; i < end; ++i) count += k->places[i] == place;
  return count;
}

// The tokens of a bin in the order of their ids; how many there are.
static int64_t take(struct work *k, int64_t size, uint16_t place) {
  int64_t count = 0;
  for (int64_t i = 0; i < size; i += BLOCK) {
    const int64_t end = end_of(i, size);
    if (!count_in(k, i, end, place)) continue;
    for (int64_t j = i; j < end; ++j) {
      k->ids[count] = (int32_t)j;
      count += k->places[j] == place;
    }
  }
  return count;
}

// The token of a bin with so many others of it in front.
static int64_t nth(const struct work *k, int64_t size, uint16_t place, int64_t others) {
  for (int64_t i = 0; i < size; i += BLOCK) {
    const int64_t end = end_of(i, size), count = count_in(k, i, end, place);
    if (others >= count) {
      others -= count;
      continue;
    }
    for (int64_t j = i; j < end; ++j)
      if (k->places[j] == place && others-- == 0) return j;
  }
  return -1;
}

// Likeliest first; ids rise in equal distances as they came in that order.
static void sort(const float *distances, int32_t *ids, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const int32_t id = ids[i];
    int64_t at = i;
    for (; at > 0 && distances[ids[at - 1]] > distances[id]; --at) ids[at] = ids[at - 1];
    ids[at] = id;
  }
}

// Keeps of `count` tokens those in the bin, finer than before, in which the sum reaches `goal`.
// All have different bins at last, as the nearest and the furthest always have.
static int64_t narrow(struct work *k, int64_t count, float nearest, float furthest, int by_weight,
                      int64_t goal, struct bin *base) {
  static const float most = BINS - 1;
  const float span = furthest - nearest;
  struct bin bins[BINS], before;
  memset(bins, 0, sizeof bins);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t id = k->ids[i];
    const int64_t b = (int64_t)((k->distances[id] - nearest) / span * most);
    bins[b].weight += k->weights[id];
    bins[b].count += 1;
  }
  const int64_t chosen =
      bin_of(bins, 1, by_weight, goal - (by_weight ? base->weight : base->count), &before);
  base->weight += before.weight;
  base->count += before.count;
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t id = k->ids[i];
    k->ids[kept] = id;
    kept += (int64_t)((k->distances[id] - nearest) / span * most) == chosen;
  }
  return kept;
}

// How many equals it takes until the sum, `base` so far, reaches `goal`; `count` if it does not.
static int64_t equals_until(int64_t goal, int by_weight, const struct bin *base, int64_t weight,
                            int64_t count) {
  const int64_t left = goal - (by_weight ? base->weight : base->count);
  const int64_t taken = by_weight ? (left + weight - 1) / weight : left;
  return taken < 1 ? 1 : taken < count ? taken : count;
}

// Where the running sum of weights, or of counts, over the tokens in order reaches `goal`.
static struct found reach(struct work *k, int64_t size, int by_weight, int64_t goal) {
  struct bin base;
  const uint16_t place = (uint16_t)bin_of(k->bins, COPIES, by_weight, goal, &base);
  const int64_t all = k->bins[place * COPIES].count;
  float nearest, furthest;
  if (all > FEW) {
    spread(k, size, place, &nearest, &furthest);
    if (nearest == furthest) {
      const int64_t weight = k->bins[place * COPIES].weight / all;
      const int64_t taken = equals_until(goal, by_weight, &base, weight, all);
      return (struct found){nth(k, size, place, taken - 1), base.weight + taken * weight};
    }
  }
  int64_t count = take(k, size, place);
  while (count > FEW) {
    count = narrow(k, count, nearest, furthest, by_weight, goal, &base);
    nearest = furthest = k->distances[k->ids[0]];
    for (int64_t i = 1; i < count; ++i) {
      const float distance = k->distances[k->ids[i]];
      nearest = distance < nearest ? distance : nearest;
      furthest = distance > furthest ? distance : furthest;
    }
    if (nearest == furthest) break;  // equals stand in order
  }
  if (count <= FEW) sort(k->distances, k->ids, count);
  struct found found = {-1, base.weight};
  for (int64_t i = 0; i < count; ++i) {
    found.id = k->ids[i];
    found.weight += k->weights[found.id];
    base.count += 1;
    if ((by_weight ? found.weight : base.count) >= goal) break;
  }
  return found;
}

// The weight of all tokens whose exponent is at least `lowest`.
static int64_t weight_from(const struct work *k, int64_t size, float inverse, float lowest) {
  int64_t sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    const int32_t in = -(int32_t)(-k->distances[i] * inverse >= lowest);  // all bits or none
    sum += k->weights[i] & in;
  }
  return sum;
}

// The token that `point` falls on, of `size` logits; see linnet_sample.
static int64_t draw(struct work *k, const float *logits, int64_t size, float top, float inverse,
                    int64_t most, double share, float lowest, double point) {
  put_all(k, size, weigh(k, logits, size, top, inverse));
  int64_t kept = 0, count = 0;
  for (int64_t b = 0; b < BINS; ++b) {
    kept += k->bins[b * COPIES].weight;
    count += k->bins[b * COPIES].count;
  }
  if (most < count) kept = reach(k, size, 0, most).weight;
  if (share < 1.0) {
    const double goal = share * (double)kept;
    int64_t least = (int64_t)goal;
    least += (double)least < goal;
    kept = reach(k, size, 1, least < 1 ? 1 : least < kept ? least : kept).weight;
  }
  if (lowest > LOWEST) {
    const int64_t likely = weight_from(k, size, inverse, lowest);
    kept = likely < kept ? likely : kept;
  }
  const int64_t goal = (int64_t)(point * (double)kept);
  return reach(k, size, 1, 1 + (goal < kept ? goal : kept - 1)).id;
}

// The bin of a logit, the lower the better; `scale` may be 0.
static inline int32_t rank_of(float logit, float top, float scale) {
  const float rank = (top - logit) * scale;
  return rank < BINS - 1 ? (int32_t)rank : BINS - 1;
}

// Where only a few of many tokens are kept: puts those that may be, all of the best bins, into
// `chosen` and `ids`, in the order of their ids, and says how many. At least `most` blocks have
// their best token there, so at least `most` tokens are. 0 if there would be too many.
static int64_t shortlist(struct work *k, const float *restrict logits, int64_t size, float top,
                         int64_t most) {
  const int64_t blocks = size / BLOCK;  // what is left over counts as good as any
  float *restrict best = k->distances, worst = top;
  for (int64_t b = 0; b < blocks; ++b) {
    int32_t highest = INT32_MIN;  // a float in the order of whole numbers
    for (int64_t i = b * BLOCK; i < b * BLOCK + BLOCK; ++i) {
      int32_t bits;
      memcpy(&bits, logits + i, 4);
      bits ^= bits >> 31 & 0x7fffffff;
      highest = bits > highest ? bits : highest;
    }
    highest ^= highest >> 31 & 0x7fffffff;
    memcpy(best + b, &highest, 4);
    worst = best[b] < worst ? best[b] : worst;
  }
  const float span = top - worst, scale = span > 0 && span < 3.0e38f ? (BINS - 1) / span : 0.0f;
  int32_t counts[BINS] = {0}, edge = 0;
  for (int64_t b = 0; b < blocks; ++b) counts[rank_of(best[b], top, scale)] += 1;
  for (int64_t seen = counts[0]; seen < most && edge < BINS - 1;) seen += counts[++edge];
  int64_t count = 0;
  for (int64_t start = 0; start < size; start += BLOCK) {
    const int64_t end = end_of(start, size);
    if (end == start + BLOCK && rank_of(best[start / BLOCK], top, scale) > edge) continue;
    if (count + BLOCK > size / FEWER) return 0;
    for (int64_t i = start; i < end; ++i) {
      k->chosen[count] = logits[i];
      k->chosen_ids[count] = (int32_t)i;
      count += rank_of(logits[i], top, scale) <= edge;
    }
  }
  return count;
}

// Bytes of work memory for `size` tokens, 64 of them to align it.
__attribute__((visibility("default"))) int64_t linnet_sample_bytes(int64_t size) {
  const int64_t padded = (size + 15) / 16 * 16;
  return (int64_t)sizeof(struct work) + 64 + padded * (8 + 4 + 4 + 4 + 4 + 4 + 2);
}

// The token that `point`, from 0 to 1, falls on. `top` is the best logit, a finite number;
// `inverse` that of the temperature; `most` how many tokens are kept, and `share` which part of
// their weight; `lowest` the least exponent that is kept.
__attribute__((visibility("default"))) int64_t linnet_sample(
    const float *logits, int64_t size, float top, float inverse, int64_t most, double share,
    float lowest, double point, void *memory) {
  const int64_t padded = (size + 15) / 16 * 16;
  struct work *k = (struct work *)(((uintptr_t)memory + 63) / 64 * 64);
  k->weights = (int64_t *)(k + 1);
  k->distances = (float *)(k->weights + padded);
  k->powers = k->distances + padded;
  k->chosen = k->powers + padded;
  k->chosen_ids = (int32_t *)(k->chosen + padded);
  k->ids = k->chosen_ids + padded;
  k->places = (uint16_t *)(k->ids + padded);
  if (most <= size / BLOCK / 2) {
    const int64_t count = shortlist(k, logits, size, top, most);
    if (count)
      return k->chosen_ids[draw(k, k->chosen, count, top, inverse, most, share, lowest, point)];
  }
  return draw(k, logits, size, top, inverse, most, share, lowest, point);
}
