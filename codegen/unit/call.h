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
