/* Bare loops of scalings, of the kind of will-it-scale: workers, each on a processor of its own, repeat an
 * operation for a window and count. Prints the nanoseconds for each operation of all, with one and with two workers.
 * Build: cc -O2 -pthread. Arguments: the operation, threads or processes, an empty folder. */
#include "loop.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2, PAGES = 64, PAGE = 4096, NAME = 256 };
#define WINDOW_NS 80e6

/* Each on cache lines of its own. */
struct slot {
    _Alignas(128) atomic_int ready;
    _Alignas(128) double rate;
};
static struct shared {
    struct slot slots[WORKERS];
    _Alignas(128) atomic_int phase;
} *shared;

static const char *operation, *folder;

static char *path(int worker, const char *name) {
    static _Thread_local char own[NAME];
    snprintf(own, sizeof own, "%s/%d", folder, worker);
    mkdir(own, 0700);
    snprintf(own, sizeof own, "%s/%d/%s", folder, worker, name);
    return own;
}

static char *anonymous(int pages) {
    void *at = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(at == MAP_FAILED ? -1 : 0, "mmap");
    return at;
}

static int stream(void) {
    return check(socket(AF_INET, SOCK_STREAM, 0), "socket");
}

#define REPEAT(...)                                                  \
    do {                                                             \
        atomic_store(&shared->slots[worker].ready, 1);               \
        while (atomic_load(&shared->phase) == 0) sched_yield();      \
        double from = now_ns();                                      \
        long count = 0;                                              \
        do {                                                         \
            __VA_ARGS__;                                             \
            count++;                                                 \
        } while (atomic_load_explicit(&shared->phase, memory_order_relaxed) == 1); \
        shared->slots[worker].rate = count / (now_ns() - from);      \
        return;                                                      \
    } while (0)

static void work(int worker) {
    prepare(worker);
    char page[PAGE] = {1};
    if (!strcmp(operation, "syscall")) REPEAT(syscall(SYS_getppid));
    if (!strcmp(operation, "open")) {
        char *name = path(worker, "file");
        close(check(open(name, O_CREAT | O_RDWR, 0600), "open"));
        REPEAT(close(check(open(name, O_RDONLY | O_CLOEXEC), "open")));
    }
    if (!strcmp(operation, "file-read")) {
        int file = check(open(path(worker, "page"), O_CREAT | O_RDWR, 0600), "open");
        check(pwrite(file, page, PAGE, 0), "pwrite");
        REPEAT(check(pread(file, page, PAGE, 0), "pread"));
    }
    if (!strcmp(operation, "file-write")) {
        int file = check(open(path(0, "pages"), O_CREAT | O_RDWR, 0600), "open");
        REPEAT(check(pwrite(file, page, PAGE, worker * PAGE), "pwrite"));
    }
    if (!strcmp(operation, "create")) {
        char name[NAME];
        snprintf(name, sizeof name, "%s/%d", folder, worker + WORKERS);
        REPEAT(close(check(open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600), "open")); check(unlink(name), "unlink"));
    }
    if (!strcmp(operation, "map")) {
        REPEAT(void *at = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
               check(munmap(at, PAGE), "munmap"));
    }
    if (!strcmp(operation, "fault")) {
        char *region = anonymous(PAGES);
        REPEAT(for (int n = 0; n < PAGES; n++) region[n * PAGE] = 1;
               check(madvise(region, PAGES * PAGE, MADV_DONTNEED), "madvise"));
    }
    if (!strcmp(operation, "pipe")) {
        int ends[2];
        check(pipe(ends), "pipe");
        REPEAT(check(write(ends[1], page, 1), "write"); check(read(ends[0], page, 1), "read"));
    }
    if (!strcmp(operation, "socket")) REPEAT(close(stream()));
    if (!strcmp(operation, "bind")) {
        struct sockaddr_in any = {.sin_family = AF_INET};
        REPEAT(int one = stream(); check(bind(one, (struct sockaddr *)&any, sizeof any), "bind"); close(one));
    }
    if (!strcmp(operation, "spawn")) {
        REPEAT(pid_t child = check(fork(), "fork"); if (child == 0) _exit(0); check(waitpid(child, NULL, 0), "waitpid"));
    }
    if (!strcmp(operation, "protect")) {
        char *region = anonymous(3);
        REPEAT(check(mprotect(region + PAGE, PAGE, PROT_READ), "mprotect");
               check(mprotect(region + PAGE, PAGE, PROT_READ | PROT_WRITE), "mprotect"));
    }
    if (!strcmp(operation, "timer")) {
        int timer = check(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
        struct itimerspec late = {.it_value.tv_sec = 200}, soon = {.it_value.tv_sec = 100};
        REPEAT(check(timerfd_settime(timer, 0, &late, NULL), "timerfd_settime");
               check(timerfd_settime(timer, 0, &soon, NULL), "timerfd_settime"));
    }
    if (!strcmp(operation, "tcp")) {
        struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t bytes = sizeof local;
        int listener = stream(), client = stream(), on = 1;
        check(bind(listener, (struct sockaddr *)&local, sizeof local), "bind");
        check(listen(listener, 1), "listen");
        check(getsockname(listener, (struct sockaddr *)&local, &bytes), "getsockname");
        check(connect(client, (struct sockaddr *)&local, sizeof local), "connect");
        int server = check(accept(listener, NULL, NULL), "accept");
        check(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
        REPEAT(check(send(client, page, 1, MSG_NOSIGNAL), "send"); check(recv(server, page, 1, 0), "recv"));
    }
    if (!strcmp(operation, "rename")) {
        char names[2][NAME], *old = names[0], *new = names[1];
        strcpy(old, path(worker, "one"));
        strcpy(new, path(worker, "other"));
        close(check(open(old, O_CREAT | O_RDWR, 0600), "open"));
        REPEAT(check(rename(old, new), "rename"); char *swap = old; old = new; new = swap);
    }
    if (!strcmp(operation, "unix")) {
        int ends[2];
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
        REPEAT(check(write(ends[1], page, 1), "write"); check(read(ends[0], page, 1), "read"));
    }
    fprintf(stderr, "no operation is called %s\n", operation);
    exit(1);
}

static void *thread(void *worker) {
    work((int)(intptr_t)worker);
    return NULL;
}

static double rate(int workers, int are_threads) {
    memset(shared, 0, sizeof *shared);
    pthread_t threads[WORKERS];
    for (int worker = 0; worker < workers; worker++) {
        if (are_threads) {
            if (pthread_create(&threads[worker], NULL, thread, (void *)(intptr_t)worker)) exit(1);
        } else if (check(fork(), "fork") == 0) {
            work(worker);
            _exit(0);
        }
    }
    for (int worker = 0; worker < workers; worker++) {
        while (!atomic_load(&shared->slots[worker].ready)) usleep(200);
    }
    atomic_store(&shared->phase, 1);
    usleep(WINDOW_NS / 1e3);
    atomic_store(&shared->phase, 2);
    double sum = 0;
    for (int worker = 0; worker < workers; worker++) {
        if (are_threads) pthread_join(threads[worker], NULL);
        else check(wait(NULL), "wait");
    }
    for (int worker = 0; worker < workers; worker++) sum += shared->slots[worker].rate;
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    operation = argv[1], folder = argv[3];
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int are_threads = !strcmp(argv[2], "threads");
    printf("%f %f\n", 1 / rate(1, are_threads), 1 / rate(2, are_threads));
}
