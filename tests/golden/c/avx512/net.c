// One row by a panel w[K][64]: a stream of weights, read once.
static void ln_row_64(int64_t K, const float *x, const float *w, float *sums) {
  enum { AHEAD = 32 * 64 };                         // prefetch distance, in steps of K
  __m512 s0 = _mm512_setzero_ps();
  __m512 s1 = _mm512_setzero_ps();
  __m512 s2 = _mm512_setzero_ps();
  __m512 s3 = _mm512_setzero_ps();
  int64_t k = 0;
  for (; k < K; ++k, w += 64) {
    const __m512 x0 = _mm512_set1_ps(x[k]);
    __builtin_prefetch(w + AHEAD, 0, 2);
    __builtin_prefetch(w + AHEAD + 16, 0, 2);
    __builtin_prefetch(w + AHEAD + 32, 0, 2);
    __builtin_prefetch(w + AHEAD + 48, 0, 2);
    s0 = _mm512_fmadd_ps(x0, _mm512_loadu_ps(w), s0);
    s1 = _mm512_fmadd_ps(x0, _mm512_loadu_ps(w + 16), s1);
    s2 = _mm512_fmadd_ps(x0, _mm512_loadu_ps(w + 32), s2);
    s3 = _mm512_fmadd_ps(x0, _mm512_loadu_ps(w + 48), s3);
  }
  _mm512_storeu_ps(sums, s0);
  _mm512_storeu_ps(sums + 16, s1);
  _mm512_storeu_ps(sums + 32, s2);
  _mm512_storeu_ps(sums + 48, s3);
}

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

// out[Out] = x[In] . weight + bias, then gelu; weight in panels [Out/64][In][64], read once.
static void kernel_linear_row_1_48_100_gelu(struct worker *w, const float *x, const float *weight,
                                            const float *bias, float *out) {
  const int64_t In = 48;
  const int64_t Out = 100;

  enum { PANEL = 64 };
  float sum[PANEL] __attribute__((aligned(64)));
  const int64_t panels = (Out + PANEL - 1) / PANEL;
  for (int64_t panel; (panel = claim(w, panels)) >= 0;) {
    const int64_t left = panel * PANEL, columns = Out - left < PANEL ? Out - left : PANEL;
    float *to = out + left;
    ln_row_64(In, x, weight + left * In, sum);
    int64_t c = 0;
    for (; c + 16 <= columns; c += 16) {
      __m512 v = _mm512_loadu_ps(sum + c);
      v = _mm512_add_ps(v, _mm512_loadu_ps(bias + left + c));
      v = ln_gelu_lanes(v);
      _mm512_storeu_ps(to + c, v);
    }
    if (c < columns) {
      __m512 v = _mm512_loadu_ps(sum + c);
      v = _mm512_add_ps(v, ln_load_tail(bias + left + c, columns - c, _mm512_setzero_ps()));
      v = ln_gelu_lanes(v);
      ln_store_tail(to + c, columns - c, v);
    }
  }
}

// total: f32[48]    golden.linnet:14:9
static void loop_total(const float *seen, const float *x, float *out) {
  for (int64_t i = 0; i < 48; ++i) {
    out[i] = seen[i] + x[i];
  }
}

// largest: f32[S]    golden.linnet:20:9
static void loop_largest(struct worker *w, int64_t S, const float *x, float *out) {
  for (int64_t c; (c = claim(w, (S + 2047) / 2048)) >= 0;) {
    const int64_t hi = ln_min_i64(S, (c + 1) * 2048);
    for (int64_t s = c * 2048; s < hi; ++s) {
      float max = -INFINITY;
      for (int64_t i = 0; i < 48; ++i) {
        max = ln_max_f32(max, fabsf(x[s * 48 + i]));
      }
      out[s] = max;
    }
  }
}

// entry step(x: f32[1, 48]) -> f32[1, 100]    golden.linnet:13
static void step_steps(struct worker *w, void *arg) {
  const struct linnet_call *const call = arg;
  const float *const x = call->inputs[0];  // f32[1, 48]
  float *const gelu = call->results[0];  // f32[1, 100]
  const float *const weight_packed = call->weights[0];  // f32[100, 48]
  const float *const bias = call->weights[1];  // f32[100]
  float *const seen = call->states[0];  // f32[48]
  struct team single = {.count = 1};  // of the steps that one worker does
  struct worker one = {0, 1, &single}, *const alone = &one;

  if (w->id == 0) {
    // seen = elementwise loop                                     golden.linnet:14
    loop_total(seen, x, seen);

    // gelu = linear, then gelu                                    golden.linnet:16
    kernel_linear_row_1_48_100_gelu(alone, x, weight_packed, bias, gelu);
  }
}

LN_EXPORT void linnet_entry_step(struct linnet_pool *pool, struct linnet_call *call) {
  linnet_pool_run(pool, step_steps, call);
}

// entry scores(x: f32[S, 48]) -> f32[S]    golden.linnet:19
static void scores_steps(struct worker *w, void *arg) {
  const struct linnet_call *const call = arg;
  const int64_t S = call->sizes[0];
  const float *const x = call->inputs[0];  // f32[S, 48]
  float *const largest = call->results[0];  // f32[S]

  // largest = reduction                                         golden.linnet:20
  loop_largest(w, S, x, largest);
}

LN_EXPORT void linnet_entry_scores(struct linnet_pool *pool, struct linnet_call *call) {
  linnet_pool_run(pool, scores_steps, call);
}

