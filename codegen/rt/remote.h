// Start of remote.h: a unit that runs in a process of its own and is driven through its pipes.
//
// Used to run code for a machine that this one can only emulate. Commands come on stdin, answers
// go to stdout; numbers are int64, addresses are those of this process. The sender is trusted.
//
//   'A' bytes                          allocate, zeroed, 64-byte aligned    -> address
//   'W' address bytes <bytes>          write memory
//   'R' address bytes                  read memory                          -> <bytes>
//   'P' function source packed args[4] is_file 0   run a packing function   -> 0
//   'C' function sizes inputs results weights states arena scratch each     -> 0
//                                      call an entry; all but `each` are addresses
//
// `function` counts in `ln_remote_packs` and `ln_remote_entries`, which stand before this.

#include <stdio.h>

static void ln_remote_read(void *to, size_t bytes) {
  if (fread(to, 1, bytes, stdin) != bytes && bytes > 0) exit(0);      // the other side is gone
}

static int64_t ln_remote_number(void) {
  int64_t value;
  ln_remote_read(&value, sizeof value);
  return value;
}

static void ln_remote_answer(int64_t value) {
  fwrite(&value, sizeof value, 1, stdout);
  fflush(stdout);
}

static void ln_remote_allocate(void) {
  void *memory = NULL;
  const size_t bytes = (size_t)ln_remote_number();
  if (posix_memalign(&memory, 64, bytes + 64)) exit(1);
  memset(memory, 0, bytes + 64);
  ln_remote_answer((int64_t)(intptr_t)memory);
}

static void ln_remote_pack(struct linnet_pool *pool) {
  const int64_t function = ln_remote_number();
  int64_t job[8];                                    // struct linnet_pack_job, field by field
  ln_remote_read(job, sizeof job);
  linnet_pool_run(pool, ln_remote_packs[function], job);
  ln_remote_answer(0);
}

static void ln_remote_call(struct linnet_pool *pool) {
  const int64_t function = ln_remote_number();
  struct linnet_call call;
  ln_remote_read(&call, sizeof call);
  ln_remote_entries[function](pool, &call);
  ln_remote_answer(0);
}

int main(int argc, char **argv) {
  struct linnet_pool *pool = linnet_pool_new(argc > 1 ? atoi(argv[1]) : 1);
  for (int command; (command = getchar()) != EOF;) {
    if (command == 'A') ln_remote_allocate();
    if (command == 'P') ln_remote_pack(pool);
    if (command == 'C') ln_remote_call(pool);
    if (command == 'W' || command == 'R') {
      char *const memory = (char *)(intptr_t)ln_remote_number();
      const size_t bytes = (size_t)ln_remote_number();
      if (command == 'W') ln_remote_read(memory, bytes);
      if (command == 'R') fwrite(memory, 1, bytes, stdout);
      fflush(stdout);
    }
  }
  linnet_pool_free(pool);
  return 0;
}
