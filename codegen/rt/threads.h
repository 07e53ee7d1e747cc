// Start of threads.h: a team of threads that runs one function together.
//
// Every worker of a team runs the whole function. Inside it they share work by claiming chunks,
// and wait for one another between two steps:
//
//   for (int64_t i; (i = claim(w, n)) >= 0;) chunk(i);     // each of 0 .. n-1 goes to one worker
//   sync(w);                                               // all done; claiming starts afresh
//
// A waiting worker spins for some microseconds, then sleeps, so an idle pool costs nothing and
// more threads than cores only cost the switches. After a fork the child starts its own threads
// at the first run. Linux and macOS.

#ifndef LN_EXPORT
#define LN_EXPORT __attribute__((visibility("default")))
#endif

enum {
  LN_LINE = 128,             // bytes that two cores should not both write
  LN_SPIN_NS = 30000,        // how long a worker spins before it sleeps
  LN_SPIN_NS_CROWDED = 500,  // the same when there are more workers than CPUs
  LN_CROWD = 4,              // workers per CPU at most
};

struct team {
  _Alignas(LN_LINE) _Atomic int64_t next;      // the next chunk to hand out
  _Alignas(LN_LINE) _Atomic int arrived;       // workers that wait in the current barrier
  _Alignas(LN_LINE) _Atomic unsigned phase;    // barriers passed so far
  _Atomic int sleepers;
  int count, spins;
  pthread_mutex_t lock;                        // guards sleeping on `wake`
  pthread_cond_t wake;
};

struct worker {
  int id, count;                               // 0 <= id < count
  struct team *team;
};

struct linnet_pool {
  struct team team;
  pthread_mutex_t running;                     // one run at a time
  int wanted;                                  // threads asked for, the caller among them
  pid_t owner;                                 // the process whose threads these are
  void (*job)(struct worker *, void *);        // NULL ends the threads
  void *arg;
  pthread_t *threads;                          // [count]; 0 is the caller and has none
  struct worker *workers;                      // [count]
};

static inline void ln_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

// The next of the chunks 0 .. n-1 that nobody has taken, or -1.
static inline int64_t claim(struct worker *w, int64_t n) {
  _Atomic int64_t *next = &w->team->next;
  int64_t chunk;
  if (w->count == 1) {
    chunk = atomic_load_explicit(next, memory_order_relaxed);
    atomic_store_explicit(next, chunk + 1, memory_order_relaxed);
  } else {
    chunk = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
  }
  return chunk < n ? chunk : -1;
}

static void ln_sleep_until_after(struct team *t, unsigned phase) {
  pthread_mutex_lock(&t->lock);
  atomic_fetch_add(&t->sleepers, 1);
  while (atomic_load(&t->phase) == phase) pthread_cond_wait(&t->wake, &t->lock);
  atomic_fetch_sub(&t->sleepers, 1);
  pthread_mutex_unlock(&t->lock);
}

// Wait until every worker of the team has come here. What they wrote before is then visible.
static inline void ln_sync(struct worker *w) {
  struct team *t = w->team;
  if (w->count == 1) {
    atomic_store_explicit(&t->next, 0, memory_order_relaxed);
    return;
  }
  const unsigned phase = atomic_load_explicit(&t->phase, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) == w->count - 1) {
    atomic_store_explicit(&t->next, 0, memory_order_relaxed);
    atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
    // This before the look at `sleepers`, who look the other way round. An exchange and no store:
    // as strong by the letter, but emulators let a store of aarch64 be overtaken by a later load.
    atomic_exchange(&t->phase, phase + 1);
    if (atomic_load(&t->sleepers) > 0) {
      pthread_mutex_lock(&t->lock);
      pthread_cond_broadcast(&t->wake);
      pthread_mutex_unlock(&t->lock);
    }
    return;
  }
  for (int i = 0; i < t->spins; ++i) {
    if (atomic_load_explicit(&t->phase, memory_order_acquire) != phase) return;
    if (i % 128 == 127) sched_yield();         // someone else may need this core meanwhile
    else ln_pause();
  }
  ln_sleep_until_after(t, phase);
}

#define sync(w) ln_sync(w)                     // unistd.h has a `sync` of its own

static void *ln_worker_main(void *arg) {
  struct worker *w = arg;
  struct linnet_pool *pool = (struct linnet_pool *)w->team;
  pthread_mutex_lock(&pool->team.lock);        // until the team is complete
  pthread_mutex_unlock(&pool->team.lock);
  for (;;) {
    sync(w);                                   // idle here until the caller brings a job
    if (!pool->job) return NULL;
    pool->job(w, pool->arg);
    sync(w);
  }
}

static int ln_cpu_count(void) {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

// How many pauses fill `ns` nanoseconds; their length differs by an order between machines.
static int ln_spins(int64_t ns) {
  enum { TRIAL = 200 };
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < TRIAL; ++i) ln_pause();
  clock_gettime(CLOCK_MONOTONIC, &end);
  const int64_t took = (end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec;
  return (int)(ns * TRIAL / (took > 100 ? took : 100));
}

// Start the threads of a pool. If the system grants fewer than wanted, the team is smaller.
static void ln_pool_start(struct linnet_pool *pool) {
  struct team *t = &pool->team;
  const int cpus = ln_cpu_count();
  // Threads far beyond the CPUs could only wait for one another: results do not depend on them.
  const int most = pool->wanted < LN_CROWD * cpus ? pool->wanted : LN_CROWD * cpus;
  pool->owner = getpid();
  pthread_mutex_init(&pool->running, NULL);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->wake, NULL);
  atomic_store(&t->next, 0);
  atomic_store(&t->arrived, 0);
  atomic_store(&t->phase, 0);
  atomic_store(&t->sleepers, 0);
  t->spins = ln_spins(most <= cpus ? LN_SPIN_NS : LN_SPIN_NS_CROWDED);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // signals are for the threads of the program
  pthread_mutex_lock(&t->lock);
  int count = 1;
  for (; count < most; ++count) {
    pool->workers[count] = (struct worker){count, 0, t};
    if (pthread_create(&pool->threads[count], NULL, ln_worker_main, &pool->workers[count])) break;
  }
  t->count = count;
  pool->workers[0] = (struct worker){0, count, t};
  for (int i = 1; i < count; ++i) pool->workers[i].count = count;
  pthread_mutex_unlock(&t->lock);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// A pool of `threads` workers, the caller of a run among them. NULL when memory is short.
LN_EXPORT struct linnet_pool *linnet_pool_new(int threads) {
  struct linnet_pool *pool = NULL;
  if (threads < 1) threads = 1;
  if (posix_memalign((void **)&pool, LN_LINE, sizeof *pool)) return NULL;
  memset(pool, 0, sizeof *pool);
  pool->wanted = threads;
  pool->threads = calloc((size_t)threads, sizeof *pool->threads);
  pool->workers = calloc((size_t)threads, sizeof *pool->workers);
  if (!pool->threads || !pool->workers) {
    free(pool->threads);
    free(pool->workers);
    free(pool);
    return NULL;
  }
  ln_pool_start(pool);
  return pool;
}

// How many workers a run has; at most what was asked for.
LN_EXPORT int linnet_pool_size(struct linnet_pool *pool) { return pool->team.count; }

// Run fn(worker, arg) on every worker, the calling thread being worker 0; return when all are done.
LN_EXPORT void linnet_pool_run(struct linnet_pool *pool, void (*fn)(struct worker *, void *),
                               void *arg) {
  if (pool->owner != getpid()) ln_pool_start(pool);      // forked: only this thread came along
  pthread_mutex_lock(&pool->running);
  pool->job = fn;
  pool->arg = arg;
  sync(&pool->workers[0]);
  fn(&pool->workers[0], arg);
  sync(&pool->workers[0]);
  pthread_mutex_unlock(&pool->running);
}

// End the threads and free the pool; NULL is allowed.
LN_EXPORT void linnet_pool_free(struct linnet_pool *pool) {
  if (!pool) return;
  if (pool->owner == getpid()) {
    pool->job = NULL;
    sync(&pool->workers[0]);
    for (int i = 1; i < pool->team.count; ++i) pthread_join(pool->threads[i], NULL);
  }
  free(pool->threads);
  free(pool->workers);
  free(pool);
}
