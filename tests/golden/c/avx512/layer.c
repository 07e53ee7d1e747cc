// What an entry is called with. Tables are in the order of the unit's artifact; everything in
// them was checked before the call.
struct linnet_call {
  const int64_t *sizes;          // the entry's generics
  const void *const *inputs;
  void *const *results;
  const void *const *weights;    // laid out as the artifact says
  void *const *states;           // kept between calls
  char *arena;                   // working memory of this call, 64-byte aligned
  char *scratch;                 // scratch_bytes for each worker
  int64_t scratch_bytes;
};

// Floor division and remainder of sizes, b > 0.
static inline int64_t ln_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t ln_floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

// out[S, H] = x / sqrt(mean of x * x + eps) * weight, by rows of x[S, H].
static void kernel_rms_norm_64(struct worker *w, int64_t S, const float *x, int64_t x_s0,
                               const float *weight, float eps, float *out) {
  const int64_t H = 64;

  enum { CHUNK = 8192 };                                        // elements, or a row that is longer
  const int64_t rows = H > 0 && H < CHUNK ? CHUNK / H : 1, chunks = (S + rows - 1) / rows;
  for (int64_t chunk; (chunk = claim(w, chunks)) >= 0;) {
    for (int64_t row = chunk * rows; row < S && row < (chunk + 1) * rows; ++row) {
      const float *from = x + row * x_s0;
      float *to = out + row * H;
      int64_t i = 0;
      __m512 square0 = _mm512_setzero_ps();
      for (; i + 16 <= H; i += 16) {
        const __m512 x0 = _mm512_loadu_ps(from + i);
        square0 = _mm512_fmadd_ps(x0, x0, square0);
      }
      if (i < H) {
        const __m512 x0 = ln_load_tail(from + i, H - i, _mm512_setzero_ps());
        square0 = _mm512_fmadd_ps(x0, x0, square0);
      }
      const float mean = ln_sum_lanes(square0) / (float)H;
      const float scale = 1.0f / sqrtf(mean + eps);
      for (i = 0; i < H; ++i) to[i] = from[i] * scale * weight[i];
    }
  }
}

// out[S, Out] = x[S, In] . weight; weight in panels [Out/64][In][64].
// A chunk is a block of rows by a group of panels. Where chunks are many, a group has several
// panels: a block of rows is then read less often. The next chunk is claimed early, to fetch its
// weights; after the last one come those of the next product, which often stand behind these.
static void kernel_linear_64_128_no_bias(struct worker *w, int64_t S, const float *x,
                                         int64_t x_s0, const float *weight, float *out) {
  const int64_t In = 64;
  const int64_t Out = 128;

  enum { PANEL = 64, ROWS = 96, GROUP = 4, CHUNKS = 8 };         // CHUNKS for each worker, or more
  float sums[GROUP * ROWS * PANEL] __attribute__((aligned(64)));
  const int64_t panels = (Out + PANEL - 1) / PANEL, blocks = (S + ROWS - 1) / ROWS;
  const int64_t wish = blocks > 1 ? panels * blocks / (w->count * CHUNKS) : 1;
  const int64_t group = wish < 1 ? 1 : wish < GROUP ? wish : GROUP;
  const int64_t groups = (panels + group - 1) / group;
  for (int64_t chunk = claim(w, groups * blocks), next; chunk >= 0; chunk = next) {
    next = claim(w, groups * blocks);
    const int64_t here = panels * (chunk / blocks) / groups;
    const int64_t there = next < 0 ? panels : panels * (next / blocks) / groups;
    const int64_t many = panels * (chunk / blocks + 1) / groups - here;
    const int64_t block = chunk % blocks;
    const int64_t first = S * block / blocks, rows = S * (block + 1) / blocks - first;
    ln_panels_64(many, rows, In, x + first * x_s0, x_s0, weight + here * In * PANEL, sums,
                 ROWS * PANEL, weight + there * In * PANEL);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < many; ++n) {
        const int64_t left = (here + n) * PANEL, columns = Out - left < PANEL ? Out - left : PANEL;
        const float *sum = sums + (n * ROWS + row) * PANEL;
        float *to = out + (first + row) * Out + left;
        for (int64_t c = 0; c < columns; ++c) to[c] = sum[c];
      }
    }
  }
}

// out[B, H, S, D] = x * cosine + rotate_half(x) * sine, with tables [B, S, D].
static void kernel_rope_rows_3_2_1_16(struct worker *w, const float *x, int64_t x_s0,
                                      int64_t x_s1, int64_t x_s2, const float *cos_rows,
                                      int64_t cos_rows_s0, int64_t cos_rows_s1,
                                      const float *sin_rows, int64_t sin_rows_s0,
                                      int64_t sin_rows_s1, float *out) {
  const int64_t B = 3;
  const int64_t H = 2;
  const int64_t S = 1;
  const int64_t D = 16;

  enum { ROWS = 32 };
  const int64_t rows = B * H * S, chunks = (rows + ROWS - 1) / ROWS, half = D / 2;
  for (int64_t chunk; (chunk = claim(w, chunks)) >= 0;) {
    for (int64_t row = chunk * ROWS; row < rows && row < (chunk + 1) * ROWS; ++row) {
      const int64_t b = row / S / H, h = row / S % H, s = row % S;
      const float *one = x + b * x_s0 + h * x_s1 + s * x_s2, *two = one + half;
      const float *cosine = cos_rows + b * cos_rows_s0 + s * cos_rows_s1;
      const float *sine = sin_rows + b * sin_rows_s0 + s * sin_rows_s1;
      float *to = out + row * D;
      for (int64_t d = 0; d < half; ++d) to[d] = one[d] * cosine[d] + -two[d] * sine[d];
      for (int64_t d = 0; d < half; ++d)
        to[half + d] = two[d] * cosine[half + d] + one[d] * sine[half + d];
    }
  }
}

// cache[B, H, S, D] at position at[b] of row b, every head = value[B, H, 1, D].
static void kernel_write_rows_3_2_32_16(struct worker *w, float *cache, const float *value,
                                        int64_t value_s0, int64_t value_s1, int64_t value_s2,
                                        const int32_t *at) {
  const int64_t B = 3;
  const int64_t H = 2;
  const int64_t S = 32;
  const int64_t D = 16;

  for (int64_t b; (b = claim(w, B)) >= 0;) {
    if (at[b] < 0 || at[b] >= S) continue;
    for (int64_t h = 0; h < H; ++h)
      memcpy(cache + ((b * H + h) * S + at[b]) * D, value + b * value_s0 + h * value_s1,
             (size_t)D * sizeof *cache);
  }
}

// out[B, H, S, D] = x * cosine + rotate_half(x) * sine, with tables [B, S, D].
static void kernel_rope_rows_3_4_1_16(struct worker *w, const float *x, int64_t x_s0,
                                      int64_t x_s1, int64_t x_s2, const float *cos_rows,
                                      int64_t cos_rows_s0, int64_t cos_rows_s1,
                                      const float *sin_rows, int64_t sin_rows_s0,
                                      int64_t sin_rows_s1, float *out) {
  const int64_t B = 3;
  const int64_t H = 4;
  const int64_t S = 1;
  const int64_t D = 16;

  enum { ROWS = 32 };
  const int64_t rows = B * H * S, chunks = (rows + ROWS - 1) / ROWS, half = D / 2;
  for (int64_t chunk; (chunk = claim(w, chunks)) >= 0;) {
    for (int64_t row = chunk * ROWS; row < rows && row < (chunk + 1) * ROWS; ++row) {
      const int64_t b = row / S / H, h = row / S % H, s = row % S;
      const float *one = x + b * x_s0 + h * x_s1 + s * x_s2, *two = one + half;
      const float *cosine = cos_rows + b * cos_rows_s0 + s * cos_rows_s1;
      const float *sine = sin_rows + b * sin_rows_s0 + s * sin_rows_s1;
      float *to = out + row * D;
      for (int64_t d = 0; d < half; ++d) to[d] = one[d] * cosine[d] + -two[d] * sine[d];
      for (int64_t d = 0; d < half; ++d)
        to[half + d] = two[d] * cosine[half + d] + one[d] * sine[half + d];
    }
  }
}

// out[B, H, Q, D] = softmax(query . key^T * scale, where mask[B, Q, K] lets it see) . value;
// query[B, H, Q, D], key and value[B, Hk, K, D].
static void kernel_grouped_attention_rows_3_4_2_1_32_16_lengths(struct worker *w,
                                                                const float *query,
                                                                int64_t query_s0,
                                                                int64_t query_s1,
                                                                int64_t query_s2,
                                                                const float *key, int64_t key_s0,
                                                                int64_t key_s1, int64_t key_s2,
                                                                const float *value,
                                                                int64_t value_s0,
                                                                int64_t value_s1,
                                                                int64_t value_s2, float scale,
                                                                const int64_t *lengths,
                                                                int64_t lengths_s0,
                                                                int64_t lengths_s1, float *out,
                                                                float *scratch) {
  const int64_t B = 3;
  const int64_t H = 4;
  const int64_t Hk = 2;
  const int64_t Q = 1;
  const int64_t K = 32;
  const int64_t D = 16;

  enum { ROWS = 48, KEYS = 64, TILE = 6 };
  float *const columns = scratch;                                // [D][KEYS], keys
  float *const scaled = columns + D * KEYS;                      // [ROWS][D], queries
  float scores[TILE * KEYS] __attribute__((aligned(64)));
  const int64_t blocks = (Q + ROWS - 1) / ROWS;
  // Heads with the same keys and few queries come together, as long as there is work for everyone.
  const int64_t group = H / Hk, most_heads = Q > 0 && Q < ROWS ? ROWS / Q : 1;
  int64_t parts = (group + most_heads - 1) / most_heads;
  while (parts < group && B * Hk * parts < w->count) ++parts;
  const int64_t chunks = B * Hk * parts * blocks;
  for (int64_t chunk = claim(w, chunks), next; chunk >= 0; chunk = next) {
    next = claim(w, chunks);                                     // early, to fetch its keys
    const int64_t set = chunk / blocks / parts, part = chunk / blocks % parts;
    const int64_t next_set = (next < 0 ? chunk : next) / blocks / parts;
    const int64_t heads = group * (part + 1) / parts - group * part / parts;
    const int64_t b = set / Hk, kh = set % Hk, h = kh * group + group * part / parts;
    const int64_t block = blocks - 1 - chunk % blocks;           // the longest prefixes first
    const int64_t first = Q * block / blocks, queries = Q * (block + 1) / blocks - first;
    const int64_t rows = heads * queries;                        // of a head all, then the next
    const int64_t step = (rows - 1) / ((rows + TILE - 1) / TILE) + 1;
    const float *keys = key + b * key_s0 + kh * key_s1;          // [K, D]
    const float *values = value + b * value_s0 + kh * value_s1;  // [K, D]
    float *mixed = out + ((b * H + h) * Q + first) * D;          // [rows, D]
    float most[ROWS], sum[ROWS] = {0};                           // the highest score, of weights
    int64_t count[ROWS], longest = 0;                            // keys that a row weighs
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t q = first + i % queries;
      const float *from = query + b * query_s0 + (h + i / queries) * query_s1 + q * query_s2;
      const int64_t seen = lengths[b * lengths_s0 + q * lengths_s1];
      count[i] = seen < 0 ? 0 : seen < K ? seen : K;
      most[i] = count[i] < K ? -1e30f : -0x1.fffffep+127f;       // a hidden key scores -1e30
      longest = count[i] > longest ? count[i] : longest;
      for (int64_t d = 0; d < D; ++d) scaled[i * D + d] = from[d] * scale;
      for (int64_t d = 0; d < D; ++d) mixed[i * D + d] = 0.0f;
    }
    for (int64_t k = 0; k < longest; k += KEYS) {
      const int64_t width = longest - k < KEYS ? longest - k : KEYS;
      const float *then = keys + (k + KEYS) * key_s2;             // the keys after these
      if (k + KEYS >= longest) then = key + next_set / Hk * key_s0 + next_set % Hk * key_s1;
      struct ln_ahead fetch_values = ln_fetch(values + k * value_s2, value_s2, width, D, D);
      struct ln_ahead fetch_keys = ln_fetch(then, key_s2, width, D, width);
      ln_keys_64(width, D, keys + k * key_s2, key_s2, columns);
      for (int64_t i = 0; i < rows; i += step) {
        const int64_t many = rows - i < step ? rows - i : step;
        int64_t here[TILE], most_here = 0, common = width;       // keys of this block
        for (int64_t r = 0; r < many; ++r) {
          const int64_t left = count[i + r] - k;
          here[r] = left < 0 ? 0 : left < width ? left : width;
          most_here = here[r] > most_here ? here[r] : most_here;
          common = here[r] < common ? here[r] : common;
        }
        ln_score_64(many, most_here, D, scaled + i * D, columns, scores, &fetch_values);
        ln_weigh(many, here, D, scores, most + i, sum + i, mixed + i * D);
        ln_mix(many, common, here, D, scores, values + k * value_s2, value_s2, mixed + i * D,
               &fetch_keys);
      }
    }
    for (int64_t i = 0; i < rows && K > 0; ++i) {
      if (most[i] == -1e30f) {                                   // no visible key scored more
        for (int64_t k = count[i]; k < K; ++k)
          for (int64_t d = 0; d < D; ++d) mixed[i * D + d] += values[k * value_s2 + d];
        sum[i] += (float)(K - count[i]);
      }
      for (int64_t d = 0; d < D; ++d) mixed[i * D + d] /= sum[i];
    }
  }
}

// out[S, Out] = x[S, In] . weight + residual; weight in panels [Out/64][In][64].
// A chunk is a block of rows by a group of panels. Where chunks are many, a group has several
// panels: a block of rows is then read less often. The next chunk is claimed early, to fetch its
// weights; after the last one come those of the next product, which often stand behind these.
static void kernel_linear_64_64_residual_no_bias(struct worker *w, int64_t S, const float *x,
                                                 int64_t x_s0, const float *weight,
                                                 const float *residual, int64_t residual_s0,
                                                 float *out) {
  const int64_t In = 64;
  const int64_t Out = 64;

  enum { PANEL = 64, ROWS = 96, GROUP = 4, CHUNKS = 8 };         // CHUNKS for each worker, or more
  float sums[GROUP * ROWS * PANEL] __attribute__((aligned(64)));
  const int64_t panels = (Out + PANEL - 1) / PANEL, blocks = (S + ROWS - 1) / ROWS;
  const int64_t wish = blocks > 1 ? panels * blocks / (w->count * CHUNKS) : 1;
  const int64_t group = wish < 1 ? 1 : wish < GROUP ? wish : GROUP;
  const int64_t groups = (panels + group - 1) / group;
  for (int64_t chunk = claim(w, groups * blocks), next; chunk >= 0; chunk = next) {
    next = claim(w, groups * blocks);
    const int64_t here = panels * (chunk / blocks) / groups;
    const int64_t there = next < 0 ? panels : panels * (next / blocks) / groups;
    const int64_t many = panels * (chunk / blocks + 1) / groups - here;
    const int64_t block = chunk % blocks;
    const int64_t first = S * block / blocks, rows = S * (block + 1) / blocks - first;
    ln_panels_64(many, rows, In, x + first * x_s0, x_s0, weight + here * In * PANEL, sums,
                 ROWS * PANEL, weight + there * In * PANEL);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < many; ++n) {
        const int64_t left = (here + n) * PANEL, columns = Out - left < PANEL ? Out - left : PANEL;
        const float *sum = sums + (n * ROWS + row) * PANEL;
        float *to = out + (first + row) * Out + left;
        const float *from = residual + (first + row) * residual_s0 + left;
        for (int64_t c = 0; c < columns; ++c) to[c] = from[c] + sum[c];
      }
    }
  }
}

// out[S, Out] = x[S, In] . weight, then silu; weight in panels [Out/64][In][64].
// A chunk is a block of rows by a group of panels. Where chunks are many, a group has several
// panels: a block of rows is then read less often. The next chunk is claimed early, to fetch its
// weights; after the last one come those of the next product, which often stand behind these.
static void kernel_linear_64_96_silu_no_bias(struct worker *w, int64_t S, const float *x,
                                             int64_t x_s0, const float *weight, float *out) {
  const int64_t In = 64;
  const int64_t Out = 96;

  enum { PANEL = 64, ROWS = 96, GROUP = 4, CHUNKS = 8 };         // CHUNKS for each worker, or more
  float sums[GROUP * ROWS * PANEL] __attribute__((aligned(64)));
  const int64_t panels = (Out + PANEL - 1) / PANEL, blocks = (S + ROWS - 1) / ROWS;
  const int64_t wish = blocks > 1 ? panels * blocks / (w->count * CHUNKS) : 1;
  const int64_t group = wish < 1 ? 1 : wish < GROUP ? wish : GROUP;
  const int64_t groups = (panels + group - 1) / group;
  for (int64_t chunk = claim(w, groups * blocks), next; chunk >= 0; chunk = next) {
    next = claim(w, groups * blocks);
    const int64_t here = panels * (chunk / blocks) / groups;
    const int64_t there = next < 0 ? panels : panels * (next / blocks) / groups;
    const int64_t many = panels * (chunk / blocks + 1) / groups - here;
    const int64_t block = chunk % blocks;
    const int64_t first = S * block / blocks, rows = S * (block + 1) / blocks - first;
    ln_panels_64(many, rows, In, x + first * x_s0, x_s0, weight + here * In * PANEL, sums,
                 ROWS * PANEL, weight + there * In * PANEL);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < many; ++n) {
        const int64_t left = (here + n) * PANEL, columns = Out - left < PANEL ? Out - left : PANEL;
        const float *sum = sums + (n * ROWS + row) * PANEL;
        float *to = out + (first + row) * Out + left;
        int64_t c = 0;
        for (; c + 16 <= columns; c += 16) {
          __m512 v = _mm512_loadu_ps(sum + c);
          v = ln_silu_lanes(v);
          _mm512_storeu_ps(to + c, v);
        }
        if (c < columns) {
          __m512 v = _mm512_loadu_ps(sum + c);
          v = ln_silu_lanes(v);
          ln_store_tail(to + c, columns - c, v);
        }
      }
    }
  }
}

// out[S, Out] = x[S, In] . weight * factor; weight in panels [Out/64][In][64].
// A chunk is a block of rows by a group of panels. Where chunks are many, a group has several
// panels: a block of rows is then read less often. The next chunk is claimed early, to fetch its
// weights; after the last one come those of the next product, which often stand behind these.
static void kernel_linear_64_96_factor_no_bias(struct worker *w, int64_t S, const float *x,
                                               int64_t x_s0, const float *weight,
                                               const float *factor, int64_t factor_s0,
                                               float *out) {
  const int64_t In = 64;
  const int64_t Out = 96;

  enum { PANEL = 64, ROWS = 96, GROUP = 4, CHUNKS = 8 };         // CHUNKS for each worker, or more
  float sums[GROUP * ROWS * PANEL] __attribute__((aligned(64)));
  const int64_t panels = (Out + PANEL - 1) / PANEL, blocks = (S + ROWS - 1) / ROWS;
  const int64_t wish = blocks > 1 ? panels * blocks / (w->count * CHUNKS) : 1;
  const int64_t group = wish < 1 ? 1 : wish < GROUP ? wish : GROUP;
  const int64_t groups = (panels + group - 1) / group;
  for (int64_t chunk = claim(w, groups * blocks), next; chunk >= 0; chunk = next) {
    next = claim(w, groups * blocks);
    const int64_t here = panels * (chunk / blocks) / groups;
    const int64_t there = next < 0 ? panels : panels * (next / blocks) / groups;
    const int64_t many = panels * (chunk / blocks + 1) / groups - here;
    const int64_t block = chunk % blocks;
    const int64_t first = S * block / blocks, rows = S * (block + 1) / blocks - first;
    ln_panels_64(many, rows, In, x + first * x_s0, x_s0, weight + here * In * PANEL, sums,
                 ROWS * PANEL, weight + there * In * PANEL);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < many; ++n) {
        const int64_t left = (here + n) * PANEL, columns = Out - left < PANEL ? Out - left : PANEL;
        const float *sum = sums + (n * ROWS + row) * PANEL;
        float *to = out + (first + row) * Out + left;
        const float *from = factor + (first + row) * factor_s0 + left;
        for (int64_t c = 0; c < columns; ++c) to[c] = from[c] * sum[c];
      }
    }
  }
}

// out[S, Out] = x[S, In] . weight + residual; weight in panels [Out/64][In][64].
// A chunk is a block of rows by a group of panels. Where chunks are many, a group has several
// panels: a block of rows is then read less often. The next chunk is claimed early, to fetch its
// weights; after the last one come those of the next product, which often stand behind these.
static void kernel_linear_96_64_residual_no_bias(struct worker *w, int64_t S, const float *x,
                                                 int64_t x_s0, const float *weight,
                                                 const float *residual, int64_t residual_s0,
                                                 float *out) {
  const int64_t In = 96;
  const int64_t Out = 64;

  enum { PANEL = 64, ROWS = 96, GROUP = 4, CHUNKS = 8 };         // CHUNKS for each worker, or more
  float sums[GROUP * ROWS * PANEL] __attribute__((aligned(64)));
  const int64_t panels = (Out + PANEL - 1) / PANEL, blocks = (S + ROWS - 1) / ROWS;
  const int64_t wish = blocks > 1 ? panels * blocks / (w->count * CHUNKS) : 1;
  const int64_t group = wish < 1 ? 1 : wish < GROUP ? wish : GROUP;
  const int64_t groups = (panels + group - 1) / group;
  for (int64_t chunk = claim(w, groups * blocks), next; chunk >= 0; chunk = next) {
    next = claim(w, groups * blocks);
    const int64_t here = panels * (chunk / blocks) / groups;
    const int64_t there = next < 0 ? panels : panels * (next / blocks) / groups;
    const int64_t many = panels * (chunk / blocks + 1) / groups - here;
    const int64_t block = chunk % blocks;
    const int64_t first = S * block / blocks, rows = S * (block + 1) / blocks - first;
    ln_panels_64(many, rows, In, x + first * x_s0, x_s0, weight + here * In * PANEL, sums,
                 ROWS * PANEL, weight + there * In * PANEL);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < many; ++n) {
        const int64_t left = (here + n) * PANEL, columns = Out - left < PANEL ? Out - left : PANEL;
        const float *sum = sums + (n * ROWS + row) * PANEL;
        float *to = out + (first + row) * Out + left;
        const float *from = residual + (first + row) * residual_s0 + left;
        for (int64_t c = 0; c < columns; ++c) to[c] = from[c] + sum[c];
      }
    }
  }
}

// seen: i64[3, 1]    golden.linnet:33:9
static void loop_seen(const int32_t *at, int64_t *out) {
  for (int64_t b = 0; b < 3; ++b) {
    const int64_t t0 = (int64_t)at[b];
    for (int64_t i = 0; i < 1; ++i) {
      out[b] = ln_min_i64(ln_max_i64((t0 + i) + 1, 0), 32);
    }
  }
}

// entry step(x: f32[3, 1, 64], at: i32[3], cosines: f32[3, 1, 16], sines: f32[3, 1, 16]) -> f32[3, 1, 64]    golden.linnet:22
static void step_steps(struct worker *w, void *arg) {
  const struct linnet_call *const call = arg;
  const float *const x = call->inputs[0];  // f32[3, 1, 64]
  const float *const cosines = call->inputs[2];  // f32[3, 1, 16]
  const float *const sines = call->inputs[3];  // f32[3, 1, 16]
  const int32_t *const at = call->inputs[1];  // i32[3]
  float *const result = call->results[0];  // f32[3, 1, 64]
  const float *const norm = call->weights[0];  // f32[64]
  const float *const qkv_packed = call->weights[1];  // f32[128, 64]
  const float *const out_packed = call->weights[2];  // f32[64, 64]
  const float *const gate_packed = call->weights[3];  // f32[96, 64]
  const float *const up_packed = call->weights[4];  // f32[96, 64]
  const float *const down_packed = call->weights[5];  // f32[64, 96]
  float *const keys = call->states[0];  // f32[3, 2, 32, 16]
  float *const values = call->states[1];  // f32[3, 2, 32, 16]
  float *const rms_norm = (float *)(call->arena);  // f32[3, 1, 64]
  float *const linear = (float *)(call->arena + 768);  // f32[3, 1, 128]
  float *const rope_rows = (float *)(call->arena);  // f32[3, 2, 1, 16]
  float *const query = (float *)(call->arena);  // f32[3, 4, 1, 16]
  int64_t *const seen_1 = (int64_t *)(call->arena + 768);  // i64[3, 1]
  float *const mixed = (float *)(call->arena + 2304);  // f32[3, 4, 1, 16]
  float *const y = (float *)(call->arena);  // f32[3, 1, 64]
  float *const rms_norm_1 = (float *)(call->arena + 768);  // f32[3, 1, 64]
  float *const open = (float *)(call->arena + 2304);  // f32[3, 1, 96]
  float *const swiglu = (float *)(call->arena + 3456);  // f32[3, 1, 96]
  float *const scratch = (float *)(call->scratch + w->id * call->scratch_bytes);
  struct team single = {.count = 1};  // of the steps that one worker does
  struct worker one = {0, 1, &single}, *const alone = &one;

  if (w->id == 0) {
    // rms_norm = rms_norm                                         golden.linnet:28
    kernel_rms_norm_64(alone, 3, x, 64, norm, 1e-05f, rms_norm);
    sync(alone);

    // linear = linear                                             golden.linnet:28
    kernel_linear_64_128_no_bias(alone, 3, rms_norm, 64, qkv_packed, linear);
    sync(alone);

    // rope_rows = rope_rows                                       golden.linnet:30
    kernel_rope_rows_3_2_1_16(alone, linear + 64, 128, 16, 128, cosines, 16, 16, sines, 16, 16,
                              rope_rows);
    sync(alone);

    // keys <- write_rows                                          golden.linnet:30
    kernel_write_rows_3_2_32_16(alone, keys, rope_rows, 32, 16, 16, at);
    sync(alone);

    // values <- write_rows                                        golden.linnet:31
    kernel_write_rows_3_2_32_16(alone, values, linear + 96, 128, 16, 128, at);
    sync(alone);

    // query = rope_rows                                           golden.linnet:34
    kernel_rope_rows_3_4_1_16(alone, linear, 128, 16, 128, cosines, 16, 16, sines, 16, 16, query);
    sync(alone);

    // seen_1 = elementwise loop                                   golden.linnet:33
    loop_seen(at, seen_1);

    // mixed = grouped_attention_rows                              golden.linnet:35
    kernel_grouped_attention_rows_3_4_2_1_32_16_lengths(alone, query, 64, 16, 16, keys, 1024, 512,
                                                        16, values, 1024, 512, 16, 0.25f, seen_1,
                                                        1, 1, mixed, scratch);
    sync(alone);

    // y = linear + residual                                       golden.linnet:36
    kernel_linear_64_64_residual_no_bias(alone, 3, mixed, 64, out_packed, x, 64, y);
    sync(alone);

    // rms_norm_1 = rms_norm                                       golden.linnet:37
    kernel_rms_norm_64(alone, 3, y, 64, norm, 1e-05f, rms_norm_1);
    sync(alone);

    // open = linear, then silu                                    std/nn/mlp.linnet:19
    kernel_linear_64_96_silu_no_bias(alone, 3, rms_norm_1, 64, gate_packed, open);
    sync(alone);

    // swiglu = linear * factor                                    std/nn/mlp.linnet:20
    kernel_linear_64_96_factor_no_bias(alone, 3, rms_norm_1, 64, up_packed, open, 96, swiglu);
    sync(alone);

    // result = linear + residual                                  std/nn/mlp.linnet:20
    kernel_linear_96_64_residual_no_bias(alone, 3, swiglu, 96, down_packed, y, 64, result);
  }
}

LN_EXPORT void linnet_entry_step(struct linnet_pool *pool, struct linnet_call *call) {
  linnet_pool_run(pool, step_steps, call);
}

