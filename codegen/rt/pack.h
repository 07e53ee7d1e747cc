// Start of pack.h: weights are laid out for their kernels once, at load.
//
// A packing function is run by a pool: linnet_pool_run(pool, linnet_pack_panels, &job).

enum ln_pack_dtype { LN_PACK_F32 = 0, LN_PACK_F16 = 1, LN_PACK_BF16 = 2 };

struct linnet_pack_job {
  const void *source;      // as in the checkpoint, any alignment
  void *packed;            // what the packing function writes
  int64_t dtype;           // an enum ln_pack_dtype: of the source
  int64_t args[4];         // what the packing function says
};

// Element i of a source of that dtype, widened exactly.
static inline float ln_pack_element(const char *source, int64_t dtype, int64_t i) {
  uint16_t half;
  float whole;
  if (dtype == LN_PACK_F32) {
    memcpy(&whole, source + 4 * i, sizeof whole);
    return whole;
  }
  memcpy(&half, source + 2 * i, sizeof half);
  return dtype == LN_PACK_F16 ? ln_f32_from_f16(half) : ln_f32_from_bf16(half);
}

// Element `from` of the source becomes element `at` of the result: as f32, or with `halves` as
// the half float that it is. A negative `from` stands for 0.
static inline void ln_pack_one(const struct linnet_pack_job *job, int64_t from, int64_t at,
                               int halves) {
  if (halves) {
    uint16_t half = 0;
    if (from >= 0) memcpy(&half, (const char *)job->source + 2 * from, sizeof half);
    ((uint16_t *)job->packed)[at] = half;
  } else {
    ((float *)job->packed)[at] = from < 0 ? 0.0f : ln_pack_element(job->source, job->dtype, from);
  }
}

// A matrix [rows, columns] becomes panels of 64 rows, [ceil(rows / 64)][columns][64]: what 64
// neighbouring outputs of a product read at one step stands together. Missing rows are 0.
// args: rows, columns, then the source's stride from row to row and from column to column.
static inline void ln_pack_panels(struct worker *w, const struct linnet_pack_job *job, int halves) {
  enum { PANEL = 64, STRIP = 16 };
  const int64_t rows = job->args[0], columns = job->args[1];
  const int64_t row_step = job->args[2], column_step = job->args[3];
  const int64_t panels = (rows + PANEL - 1) / PANEL;
  for (int64_t panel; (panel = claim(w, panels)) >= 0;) {
    const int64_t to = panel * columns * PANEL, from = panel * PANEL * row_step;
    const int64_t height = rows - panel * PANEL < PANEL ? rows - panel * PANEL : PANEL;
    // A strip of columns at a time: then either order of the source is read by whole lines.
    for (int64_t left = 0; left < columns; left += STRIP) {
      const int64_t right = left + STRIP < columns ? left + STRIP : columns;
      if (column_step == 1) {
        for (int64_t r = 0; r < height; ++r)
          for (int64_t c = left; c < right; ++c)
            ln_pack_one(job, from + r * row_step + c, to + c * PANEL + r, halves);
      } else {
        for (int64_t c = left; c < right; ++c)
          for (int64_t r = 0; r < height; ++r)
            ln_pack_one(job, from + r * row_step + c * column_step, to + c * PANEL + r, halves);
      }
      for (int64_t c = left; c < right; ++c)
        for (int64_t r = height; r < PANEL; ++r) ln_pack_one(job, -1, to + c * PANEL + r, halves);
    }
  }
  sync(w);
}

LN_EXPORT void linnet_pack_panels(struct worker *w, void *arg) { ln_pack_panels(w, arg, 0); }

// The same for a source of bf16 or f16 that stays what it is.
LN_EXPORT void linnet_pack_panels_16(struct worker *w, void *arg) { ln_pack_panels(w, arg, 1); }
