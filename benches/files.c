/* The calls of small-files/warm and nothing else: creates, writes and reads back COUNT files of KIB KiB in DIR, and
   removes them. Prints mean seconds for one file: all six calls, the one that creates, and the same in a second pass in
   which stat(2) has looked for the name right before, as fio does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *call)
{
    perror(call);
    exit(1);
}

int main(int count, char **words)
{
    if (count != 4) {
        fprintf(stderr, "usage: files DIR COUNT KIB\n");
        return 2;
    }
    long files = atol(words[2]);
    size_t bytes = (size_t)atol(words[3]) << 10;
    char *written = malloc(bytes), *back = malloc(bytes), path[4096];
    srandom(1);
    for (size_t i = 0; i < bytes; i++) written[i] = (char)random();

    double elapsed = 0, creating = 0, found = 0;
    for (long i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/new-%ld", words[1], i);
        memcpy(written, &i, sizeof i);
        double begun = now();
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0) fail("open");
        creating += now() - begun;
        if (write(file, written, bytes) != (ssize_t)bytes) fail("write");
        close(file);
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) fail("open");
        if (read(file, back, bytes) != (ssize_t)bytes) fail("read");
        close(file);
        elapsed += now() - begun;
        if (memcmp(written, back, bytes)) fail("what was read differs");
    }
    for (int pass = 0; pass < 2; pass++) {
        for (long i = 0; i < files; i++) {
            snprintf(path, sizeof path, "%s/new-%ld", words[1], i);
            if (unlink(path)) fail("unlink");
        }
        for (long i = 0; i < files && pass == 0; i++) {
            snprintf(path, sizeof path, "%s/new-%ld", words[1], i);
            struct stat status;
            if (!stat(path, &status)) fail("a name that should be free");
            double begun = now();
            int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (file < 0) fail("open");
            found += now() - begun;
            close(file);
        }
    }
    printf("total %.9f\ncreate %.9f\nfound %.9f\n", elapsed / files, creating / files, found / files);
    return 0;
}
