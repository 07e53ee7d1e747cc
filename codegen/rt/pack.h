// Start of pack.h: weights are laid out for their kernels once, at load.
//
// A packing function is run by a pool: linnet_pool_run(pool, linnet_pack_panels, &job). Its source
// is a mapped file as a rule. It is read from front to end, in pieces that the workers claim, and
// its pages may go as soon as all have been read: to load a model then takes little more memory
// than to have it.

#include <sys/mman.h>
#define LN_PANEL 64                   // rows of a panel
#define LN_PACK_STRIP 16              // columns at a time: 64 rows of them fit into the first cache
#define LN_PACK_PIECE (128 << 10)     // bytes of the source that one worker takes, about
#define LN_PACK_WINDOW (32 << 20)     // bytes that are read before their pages go
#define LN_INLINED static inline __attribute__((always_inline))

struct linnet_pack_job {
  const void *source;      // as in the checkpoint, any alignment
  void *packed;            // what the packing function writes
  int64_t args[4];         // what the packing function says
  int64_t is_file;         // 1: the source is a mapped file and can be read again
  const struct linnet_pack_job *next;          // to be done after it, or NULL
};

// A matrix on its way. Element (r, c) of the source is at r * row_step + c * column_step.
struct ln_pack_matrix {
  const char *source;
  char *packed;
  int64_t rows, columns, row_step, column_step;
};

typedef __attribute__((vector_size(16))) uint32_t ln_u32x4;

#ifdef __clang__
#define LN_CHOOSE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define LN_CHOOSE(a, b, ...) __builtin_shuffle(a, b, (ln_u32x4){__VA_ARGS__})
#endif

// Four rows of four elements of 4 bytes become four columns.
static inline void ln_pack_4x4(const char *from, int64_t row_step, char *to) {
  ln_u32x4 row[4], column[4];
  for (int r = 0; r < 4; ++r) memcpy(&row[r], from + 4 * r * row_step, sizeof row[r]);
  const ln_u32x4 left01 = LN_CHOOSE(row[0], row[1], 0, 4, 1, 5);
  const ln_u32x4 left23 = LN_CHOOSE(row[2], row[3], 0, 4, 1, 5);
  const ln_u32x4 right01 = LN_CHOOSE(row[0], row[1], 2, 6, 3, 7);
  const ln_u32x4 right23 = LN_CHOOSE(row[2], row[3], 2, 6, 3, 7);
  column[0] = LN_CHOOSE(left01, left23, 0, 1, 4, 5);
  column[1] = LN_CHOOSE(left01, left23, 2, 3, 6, 7);
  column[2] = LN_CHOOSE(right01, right23, 0, 1, 4, 5);
  column[3] = LN_CHOOSE(right01, right23, 2, 3, 6, 7);
  for (int c = 0; c < 4; ++c) memcpy(to + 4 * c * LN_PANEL, &column[c], sizeof column[c]);
}

// Columns [left, right) of the panel that begins at `row`: [right - left][64]. Missing rows are 0.
LN_INLINED void ln_pack_strip(const struct ln_pack_matrix *m, int64_t row, int64_t left,
                              int64_t right, int64_t size) {
  const int64_t row_step = m->row_step, column_step = m->column_step;
  const int64_t count = right - left, height = m->rows - row < LN_PANEL ? m->rows - row : LN_PANEL;
  const char *restrict from = m->source + size * (row * row_step + left * column_step);
  char *restrict to = m->packed + size * (row * m->columns + left * LN_PANEL);
  if (row_step == 1 && height == LN_PANEL) {
    for (int64_t c = 0; c < count; ++c)         // whole lines stay what they are
      memcpy(to + size * c * LN_PANEL, from + size * c * column_step, (size_t)(size * LN_PANEL));
    return;
  }
  if (column_step == 1 && height == LN_PANEL && count == LN_PACK_STRIP && size == 4) {
    for (int64_t r = 0; r < LN_PANEL; r += 4)
      for (int64_t c = 0; c < LN_PACK_STRIP; c += 4)
        ln_pack_4x4(from + 4 * (r * row_step + c), row_step, to + 4 * (c * LN_PANEL + r));
    return;
  }
  for (int64_t r = 0; r < height; ++r)
    for (int64_t c = 0; c < count; ++c)
      memcpy(to + size * (c * LN_PANEL + r), from + size * (r * row_step + c * column_step),
             (size_t)size);
  for (int64_t c = 0; c < count && height < LN_PANEL; ++c)
    memset(to + size * (c * LN_PANEL + height), 0, (size_t)(size * (LN_PANEL - height)));
}

// A part of a matrix: rows [top, bottom) of columns [left, right).
struct ln_pack_part {
  int64_t top, bottom, left, right;
};

// What is cut into parts, rows or columns: from `begin` to `end`.
static inline struct ln_pack_part ln_pack_cut(const struct ln_pack_matrix *m, int by_rows,
                                              int64_t begin, int64_t end) {
  if (by_rows) return (struct ln_pack_part){begin, end, 0, m->columns};
  return (struct ln_pack_part){0, m->rows, begin, end};
}

// Let the whole pages go that the source has between the corners of a part.
static inline void ln_pack_release(const struct ln_pack_matrix *m, struct ln_pack_part p,
                                   int64_t size) {
  const int64_t a = p.top * m->row_step + p.left * m->column_step;
  const int64_t b = (p.bottom - 1) * m->row_step + (p.right - 1) * m->column_step;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t begin = (uintptr_t)(m->source + size * (a < b ? a : b));
  const uintptr_t end = (uintptr_t)(m->source + size * ((a < b ? b : a) + 1));
  const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

// A piece is a panel where the source has rows whole, else some columns of all panels.
LN_INLINED void ln_pack_all(struct worker *w, const struct ln_pack_matrix *m, int is_file,
                            int64_t size) {
  const int by_rows = llabs(m->column_step) <= llabs(m->row_step);
  const int64_t length = by_rows ? m->rows : m->columns;      // of what is cut
  const int64_t across = size * (by_rows ? m->columns : m->rows);
  if (length == 0 || across == 0) return;
  const int64_t fit = LN_PACK_PIECE / across / LN_PACK_STRIP * LN_PACK_STRIP;
  const int64_t step = by_rows ? LN_PANEL : fit > LN_PACK_STRIP ? fit : LN_PACK_STRIP;
  const int64_t window = step * (1 + LN_PACK_WINDOW / (step * across));
  for (int64_t begin = 0; begin < length; begin += window) {
    const int64_t end = begin + window < length ? begin + window : length;
    for (int64_t k; (k = claim(w, (end - begin + step - 1) / step)) >= 0;) {
      const int64_t at = begin + k * step;
      const struct ln_pack_part p = ln_pack_cut(m, by_rows, at, at + step < end ? at + step : end);
      for (int64_t row = p.top; row < p.bottom; row += LN_PANEL)
        for (int64_t c = p.left; c < p.right; c += LN_PACK_STRIP)
          ln_pack_strip(m, row, c, c + LN_PACK_STRIP < p.right ? c + LN_PACK_STRIP : p.right, size);
    }
    sync(w);
    // The others are in the next window by now.
    if (is_file && w->id == 0) ln_pack_release(m, ln_pack_cut(m, by_rows, begin, end), size);
  }
}

// Matrices of elements of `size` bytes become panels of 64 rows, [ceil(rows / 64)][columns][64]:
// what 64 neighbouring outputs of a product read at one step stands together.
// args: rows, columns, then the source's stride from row to row and from column to column.
LN_INLINED void ln_pack_panels(struct worker *w, const struct linnet_pack_job *job, int64_t size) {
  for (; job; job = job->next) {
    const int64_t *a = job->args;
    const struct ln_pack_matrix m = {job->source, job->packed, a[0], a[1], a[2], a[3]};
    ln_pack_all(w, &m, job->is_file == 1, size);
  }
}

LN_EXPORT void linnet_pack_panels(struct worker *w, void *arg) { ln_pack_panels(w, arg, 4); }

// The same for sources of bf16 or f16, which stay what they are.
LN_EXPORT void linnet_pack_panels_16(struct worker *w, void *arg) { ln_pack_panels(w, arg, 2); }
