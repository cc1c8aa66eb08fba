/* Bare loops of the calls of eight curves, against which osdyno's own figures are held. Each object is made,
 * and then one of all is used, chosen at random; every call is timed between two readings of the clock. Prints
 * the medians of two calls in nanoseconds, n from 100 on.
 * Build: cc -O2. Arguments: the processor to be pinned to, how many objects, the curve, an empty folder. */
#include "loop.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum { NAME = 256, PER_FOLDER = 1000 };

static int count;
static int *numbers;
static uint64_t *elapsed[2], last;
static const char *folder;
static uint64_t state = 88172645463325252ULL;

static void skip(void) { last = ticks(); }

static void mark(int call, int n) {
    uint64_t now = ticks();
    elapsed[call][n] = now - last;
    last = now;
}

/* xorshift64 of Marsaglia. */
static unsigned below(unsigned limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 32) % limit;
}

static char *name(int n) {
    static char path[NAME];
    snprintf(path, sizeof path, "%s/%d", folder, n / PER_FOLDER);
    if (n % PER_FOLDER == 0) mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/%d", folder, n / PER_FOLDER, n);
    return path;
}

static char (*names(void))[NAME] {
    char (*all)[NAME] = calloc(count, NAME);
    if (!all) exit(1);
    for (int n = 0; n < count; n++) strcpy(all[n], name(n));
    return all;
}

static int locked(int file, int command, int type, off_t byte) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    check(fcntl(file, command, &lock), "fcntl");
    return lock.l_type != F_UNLCK;
}

static void lock_posix(void) {
    char *path = name(0);
    int file = check(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), path);
    int other = check(open(path, O_RDWR | O_CLOEXEC), path);
    for (int n = 0; n < count; n++) numbers[n] = 2 * n;
    for (int n = count - 1; n > 0; n--) {
        int chosen = below(n + 1), kept = numbers[n];
        numbers[n] = numbers[chosen];
        numbers[chosen] = kept;
    }
    skip();
    for (int n = 0; n < count; n++) {
        locked(file, F_SETLK, F_WRLCK, numbers[n]);
        mark(0, n);
        off_t byte = numbers[below(n + 1)];
        skip();
        if (!locked(other, F_OFD_GETLK, F_WRLCK, byte)) exit(1);
        mark(1, n);
    }
}

static void watch_inotify(void) {
    char (*paths)[NAME] = names();
    char events[4096];
    for (int n = 0; n < count; n++) {
        int file = check(open(paths[n], O_WRONLY | O_CREAT | O_CLOEXEC, 0600), paths[n]);
        close(file);
    }
    int instance = check(inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify_init1");
    skip();
    for (int n = 0; n < count; n++) {
        check(inotify_add_watch(instance, paths[n], IN_OPEN), "inotify_add_watch");
        mark(0, n);
        int file = check(open(paths[below(n + 1)], O_RDONLY | O_CLOEXEC), "open");
        skip();
        check(read(instance, events, sizeof events), "read");
        mark(1, n);
        close(file);
        skip();
    }
}

static void pipe_pipe(void) {
    int (*pipes)[2] = calloc(count, sizeof *pipes);
    if (!pipes) exit(1);
    memset(pipes, 1, count * sizeof *pipes);
    skip();
    for (int n = 0; n < count; n++) {
        check(pipe(pipes[n]), "pipe");
        mark(0, n);
        int *chosen = pipes[below(n + 1)];
        char byte = n;
        skip();
        check(write(chosen[1], &byte, 1), "write");
        check(read(chosen[0], &byte, 1), "read");
        mark(1, n);
    }
}

static struct itimerspec ahead(void) {
    uint64_t ns = 3600000000000ULL + (uint64_t)below(3600) * 1000000000ULL + below(1000000000);
    return (struct itimerspec){.it_value = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};
}

static void timer_timerfd(void) {
    int expiring = check(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
    struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
    uint64_t expiries;
    skip();
    for (int n = 0; n < count; n++) {
        numbers[n] = check(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
        struct itimerspec first = ahead(), next = ahead();
        int chosen = below(n + 1);
        skip();
        check(timerfd_settime(numbers[n], 0, &first, NULL), "timerfd_settime");
        mark(0, n);
        chosen = numbers[chosen];
        skip();
        check(timerfd_settime(chosen, 0, &next, NULL), "timerfd_settime");
        mark(1, n);
        /* The curve measures an expiry too, which leaves the caches of the processor in another state. */
        check(timerfd_settime(expiring, 0, &soon, NULL), "timerfd_settime");
        check(read(expiring, &expiries, sizeof expiries), "read");
        skip();
    }
}

static void udp_v4(void) {
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}, *places;
    int client = check(socket(AF_INET, SOCK_DGRAM, 0), "socket");
    places = calloc(count, sizeof *places);
    if (!places) exit(1);
    skip();
    for (int n = 0; n < count; n++) {
        numbers[n] = check(socket(AF_INET, SOCK_DGRAM, 0), "socket");
        skip();
        check(bind(numbers[n], (struct sockaddr *)&any, sizeof any), "bind");
        mark(0, n);
        socklen_t length = sizeof places[n];
        check(getsockname(numbers[n], (struct sockaddr *)&places[n], &length), "getsockname");
        int chosen = below(n + 1);
        char byte = n, bytes[2];
        skip();
        check(sendto(client, &byte, 1, 0, (struct sockaddr *)&places[chosen], sizeof any), "sendto");
        mark(1, n);
        check(recv(numbers[chosen], bytes, sizeof bytes, MSG_DONTWAIT), "recv");
        skip();
    }
}

static void unix_abstract(void) {
    struct sockaddr_un *places = calloc(count, sizeof *places);
    socklen_t *lengths = calloc(count, sizeof *lengths);
    int client = check(socket(AF_UNIX, SOCK_DGRAM, 0), "socket");
    if (!places || !lengths) exit(1);
    for (int n = 0; n < count; n++) {
        places[n].sun_family = AF_UNIX;
        /* Those of the curve: other names would be in other lists of the kernel's table. */
        int length = snprintf(places[n].sun_path + 1, sizeof places[n].sun_path - 1, "osdyno-%d-%d", getpid(), n);
        lengths[n] = offsetof(struct sockaddr_un, sun_path) + 1 + length;
    }
    skip();
    for (int n = 0; n < count; n++) {
        numbers[n] = check(socket(AF_UNIX, SOCK_DGRAM, 0), "socket");
        skip();
        check(bind(numbers[n], (struct sockaddr *)&places[n], lengths[n]), "bind");
        mark(0, n);
        int chosen = below(n + 1);
        char byte = n, bytes[2];
        check(connect(client, (struct sockaddr *)&places[chosen], lengths[chosen]), "connect");
        skip();
        check(sendto(client, &byte, 1, 0, (struct sockaddr *)&places[chosen], lengths[chosen]), "sendto");
        mark(1, n);
        check(recv(numbers[chosen], bytes, sizeof bytes, MSG_DONTWAIT), "recv");
        skip();
    }
}

static void queue_sysv(void) {
    struct { long kind; char byte; } message = {.kind = 1};
    skip();
    for (int n = 0; n < count; n++) {
        numbers[n] = check(msgget(0x6f730000 + getpid() * 4096 + n, IPC_CREAT | IPC_EXCL | 0600), "msgget");
        mark(0, n);
        int chosen = numbers[below(n + 1)];
        skip();
        check(msgsnd(chosen, &message, 1, IPC_NOWAIT), "msgsnd");
        mark(1, n);
        check(msgrcv(chosen, &message, 1, 1, IPC_NOWAIT), "msgrcv");
        skip();
    }
    for (int n = 0; n < count; n++) msgctl(numbers[n], IPC_RMID, NULL);
}

static void mount_tmpfs(void) {
    check(unshare(CLONE_NEWNS), "unshare");
    check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount");
    check(mount("none", folder, "tmpfs", 0, NULL), "mount");
    char (*paths)[NAME] = names();
    for (int n = 0; n < count; n++) check(mkdir(paths[n], 0700), paths[n]);
    skip();
    for (int n = 0; n < count; n++) {
        check(mount("none", paths[n], "tmpfs", 0, NULL), "mount");
        mark(0, n);
    }
    for (int n = count - 1; n > 0; n--) {
        int chosen = below(n + 1);
        char kept[NAME];
        strcpy(kept, paths[n]);
        strcpy(paths[n], paths[chosen]);
        strcpy(paths[chosen], kept);
    }
    skip();
    for (int n = 0; n < count; n++) {
        check(umount2(paths[n], UMOUNT_NOFOLLOW), "umount2");
        mark(1, n);
    }
}

static const struct { const char *name; void (*run)(void); } CURVES[] = {
    {"lock/posix", lock_posix},       {"watch/inotify", watch_inotify}, {"pipe/pipe", pipe_pipe},
    {"timer/timerfd", timer_timerfd}, {"udp/v4", udp_v4},               {"unix-socket/abstract", unix_abstract},
    {"queue/sysv", queue_sysv},       {"mount/tmpfs", mount_tmpfs},
};

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments != 5) return 2;
    count = atoi(arguments[2]);
    folder = arguments[4];
    prepare(atoi(arguments[1]));
    numbers = calloc(count, sizeof *numbers);
    for (int call = 0; call < 2; call++) elapsed[call] = calloc(count, sizeof **elapsed);
    if (!numbers || !elapsed[0] || !elapsed[1] || count <= COLD) return 1;
    /* Touched before they are timed. */
    for (int n = 0; n < count; n++) elapsed[0][n] = elapsed[1][n] = numbers[n] = 1;

    begin();
    for (size_t curve = 0; curve < sizeof CURVES / sizeof *CURVES; curve++)
        if (strcmp(CURVES[curve].name, arguments[3]) == 0) CURVES[curve].run();
    double length = ns_per_tick();
    printf("%.2f %.2f\n", median(elapsed[0], count) * length, median(elapsed[1], count) * length);
    return 0;
}
