// One row by a panel w[K][64]: a stream of weights, read once.
static void ln_row_64(int64_t K, const float *x, const float *w, float *sums) {
  float32x4_t s0 = vdupq_n_f32(0.0f);
  float32x4_t s1 = vdupq_n_f32(0.0f);
  float32x4_t s2 = vdupq_n_f32(0.0f);
  float32x4_t s3 = vdupq_n_f32(0.0f);
  float32x4_t s4 = vdupq_n_f32(0.0f);
  float32x4_t s5 = vdupq_n_f32(0.0f);
  float32x4_t s6 = vdupq_n_f32(0.0f);
  float32x4_t s7 = vdupq_n_f32(0.0f);
  float32x4_t s8 = vdupq_n_f32(0.0f);
  float32x4_t s9 = vdupq_n_f32(0.0f);
  float32x4_t s10 = vdupq_n_f32(0.0f);
  float32x4_t s11 = vdupq_n_f32(0.0f);
  float32x4_t s12 = vdupq_n_f32(0.0f);
  float32x4_t s13 = vdupq_n_f32(0.0f);
  float32x4_t s14 = vdupq_n_f32(0.0f);
  float32x4_t s15 = vdupq_n_f32(0.0f);
  int64_t k = 0;
  for (; k + 2 <= K; k += 2, w += 128) {
    const float x0 = x[k];
    s0 = vfmaq_n_f32(s0, vld1q_f32(w), x0);
    s1 = vfmaq_n_f32(s1, vld1q_f32(w + 4), x0);
    s2 = vfmaq_n_f32(s2, vld1q_f32(w + 8), x0);
    s3 = vfmaq_n_f32(s3, vld1q_f32(w + 12), x0);
    s4 = vfmaq_n_f32(s4, vld1q_f32(w + 16), x0);
    s5 = vfmaq_n_f32(s5, vld1q_f32(w + 20), x0);
    s6 = vfmaq_n_f32(s6, vld1q_f32(w + 24), x0);
    s7 = vfmaq_n_f32(s7, vld1q_f32(w + 28), x0);
    s8 = vfmaq_n_f32(s8, vld1q_f32(w + 32), x0);
    s9 = vfmaq_n_f32(s9, vld1q_f32(w + 36), x0);
    s10 = vfmaq_n_f32(s10, vld1q_f32(w + 40), x0);
    s11 = vfmaq_n_f32(s11, vld1q_f32(w + 44), x0);
    s12 = vfmaq_n_f32(s12, vld1q_f32(w + 48), x0);
    s13 = vfmaq_n_f32(s13, vld1q_f32(w + 52), x0);
    s14 = vfmaq_n_f32(s14, vld1q_f32(w + 56), x0);
    s15 = vfmaq_n_f32(s15, vld1q_f32(w + 60), x0);
    const float x1 = x[k + 1];
    s0 = vfmaq_n_f32(s0, vld1q_f32(w + 64), x1);
    s1 = vfmaq_n_f32(s1, vld1q_f32(w + 68), x1);
    s2 = vfmaq_n_f32(s2, vld1q_f32(w + 72), x1);
    s3 = vfmaq_n_f32(s3, vld1q_f32(w + 76), x1);
    s4 = vfmaq_n_f32(s4, vld1q_f32(w + 80), x1);
    s5 = vfmaq_n_f32(s5, vld1q_f32(w + 84), x1);
    s6 = vfmaq_n_f32(s6, vld1q_f32(w + 88), x1);
    s7 = vfmaq_n_f32(s7, vld1q_f32(w + 92), x1);
    s8 = vfmaq_n_f32(s8, vld1q_f32(w + 96), x1);
    s9 = vfmaq_n_f32(s9, vld1q_f32(w + 100), x1);
    s10 = vfmaq_n_f32(s10, vld1q_f32(w + 104), x1);
    s11 = vfmaq_n_f32(s11, vld1q_f32(w + 108), x1);
    s12 = vfmaq_n_f32(s12, vld1q_f32(w + 112), x1);
    s13 = vfmaq_n_f32(s13, vld1q_f32(w + 116), x1);
    s14 = vfmaq_n_f32(s14, vld1q_f32(w + 120), x1);
    s15 = vfmaq_n_f32(s15, vld1q_f32(w + 124), x1);
  }
  for (; k < K; ++k, w += 64) {
    const float x0 = x[k];
    s0 = vfmaq_n_f32(s0, vld1q_f32(w), x0);
    s1 = vfmaq_n_f32(s1, vld1q_f32(w + 4), x0);
    s2 = vfmaq_n_f32(s2, vld1q_f32(w + 8), x0);
    s3 = vfmaq_n_f32(s3, vld1q_f32(w + 12), x0);
    s4 = vfmaq_n_f32(s4, vld1q_f32(w + 16), x0);
    s5 = vfmaq_n_f32(s5, vld1q_f32(w + 20), x0);
    s6 = vfmaq_n_f32(s6, vld1q_f32(w + 24), x0);
    s7 = vfmaq_n_f32(s7, vld1q_f32(w + 28), x0);
    s8 = vfmaq_n_f32(s8, vld1q_f32(w + 32), x0);
    s9 = vfmaq_n_f32(s9, vld1q_f32(w + 36), x0);
    s10 = vfmaq_n_f32(s10, vld1q_f32(w + 40), x0);
    s11 = vfmaq_n_f32(s11, vld1q_f32(w + 44), x0);
    s12 = vfmaq_n_f32(s12, vld1q_f32(w + 48), x0);
    s13 = vfmaq_n_f32(s13, vld1q_f32(w + 52), x0);
    s14 = vfmaq_n_f32(s14, vld1q_f32(w + 56), x0);
    s15 = vfmaq_n_f32(s15, vld1q_f32(w + 60), x0);
  }
  vst1q_f32(sums, s0);
  vst1q_f32(sums + 4, s1);
  vst1q_f32(sums + 8, s2);
  vst1q_f32(sums + 12, s3);
  vst1q_f32(sums + 16, s4);
  vst1q_f32(sums + 20, s5);
  vst1q_f32(sums + 24, s6);
  vst1q_f32(sums + 28, s7);
  vst1q_f32(sums + 32, s8);
  vst1q_f32(sums + 36, s9);
  vst1q_f32(sums + 40, s10);
  vst1q_f32(sums + 44, s11);
  vst1q_f32(sums + 48, s12);
  vst1q_f32(sums + 52, s13);
  vst1q_f32(sums + 56, s14);
  vst1q_f32(sums + 60, s15);
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
    for (; c + 4 <= columns; c += 4) {
      float32x4_t v = vld1q_f32(sum + c);
      v = vaddq_f32(v, vld1q_f32(bias + left + c));
      v = ln_gelu_lanes(v);
      vst1q_f32(to + c, v);
    }
    if (c < columns) {
      float32x4_t v = vld1q_f32(sum + c);
      v = vaddq_f32(v, ln_load_tail(bias + left + c, columns - c, vdupq_n_f32(0.0f)));
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

