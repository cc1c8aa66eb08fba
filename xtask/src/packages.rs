//! Programs that the tests need, and their packages in Debian.

use crate::AnyError;
use crate::workspace::{exists, program, read, show};

struct Need {
    /// A program of the packages.
    program: &'static str,
    packages: &'static [&'static str],
    why: &'static str,
    /// Whether nothing works without it; without others some tests are skipped.
    is_vital: bool,
    wanted: For,
}

/// The command that needs a package.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum For {
    /// `cargo xtask test`.
    Test,
    /// `cargo xtask verify`, which needs the others too.
    Verify,
}

const fn test_with(program: &'static str, packages: &'static [&'static str], why: &'static str) -> Need {
    Need { program, packages, why, is_vital: false, wanted: For::Test }
}

const fn verify_with(program: &'static str, packages: &'static [&'static str], why: &'static str) -> Need {
    Need { program, packages, why, is_vital: false, wanted: For::Verify }
}

const NEEDS: &[Need] = &[
    Need {
        program: "cc",
        packages: &["gcc", "libc6-dev"],
        why: "links every program, and compiles zstd",
        is_vital: true,
        wanted: For::Test,
    },
    test_with("curl", &["curl"], "asks `serve` as people do"),
    test_with("ab", &["apache2-utils"], "loads `serve`"),
    test_with("wrk", &["wrk"], "loads `serve`"),
    test_with("siege", &["siege"], "loads `serve`"),
    test_with("h2load", &["nghttp2-client"], "loads `serve`"),
    test_with("httperf", &["httperf"], "loads `serve`"),
    test_with("nginx", &["nginx-light"], "is loaded by `load`"),
    test_with("pg_ctlcluster", &["postgresql"], "is measured by `sql`"),
    test_with("mariadbd", &["mariadb-server"], "is measured by `sql`"),
    test_with("smbd", &["samba"], "is measured by `network-copy`"),
    test_with("mkfs.xfs", &["xfsprogs"], "makes a file system that `--fs` measures"),
    test_with("mkfs.btrfs", &["btrfs-progs"], "makes a file system that `--fs` measures"),
    test_with("smbclient", &["smbclient"], "copies from the same server as `network-copy`"),
    test_with("chromium", &["chromium"], "reads a page from `serve`"),
    test_with("man", &["man-db"], "renders the pages of the manual"),
    verify_with("objcopy", &["binutils"], "separates debugging information from a release"),
    test_with("libdeflate-gzip", &["libdeflate-tools"], "compresses a release"),
    test_with("ip", &["iproute2"], "makes networks of the tests' own"),
    test_with("nft", &["nftables"], "loads the rules that `filter` and `conntrack` measure"),
    test_with("iptables", &["iptables"], "loads the rules that `filter` measures"),
    test_with("perl", &["perl-base"], "holds a lease that `tune` waits for"),
    verify_with("qemu-system-x86_64", &["qemu-system-x86"], "boots other kernels"),
    verify_with("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64"], "links osdyno for Windows"),
    verify_with("pip3", &["python3-pip"], "installs zig, which links for the BSDs and macOS, and Ansible"),
    verify_with("wine", &["wine", "wine64"], "runs the programs for Windows"),
    test_with("ssh", &["openssh-client"], "reaches a system that shares no folder, and copies files"),
    test_with("sshd", &["openssh-server"], "is that system, on loopback, and is measured by `network-copy`"),
    verify_with("slurmctld", &["slurmctld", "slurmd", "slurm-client", "munge"], "gives nodes to a fleet"),
    verify_with("apache2", &["apache2-bin"], "is a server that `snoop` identifies"),
    verify_with("lighttpd", &["lighttpd"], "is a server that `snoop` identifies"),
    verify_with("haproxy", &["haproxy"], "is a server that `snoop` identifies"),
    verify_with("redis-server", &["redis-server"], "is a server that `snoop` identifies"),
    verify_with("memcached", &["memcached"], "is a server that `snoop` identifies"),
    verify_with("dovecot", &["dovecot-imapd"], "is a server that `snoop` identifies"),
    verify_with("gunicorn", &["gunicorn", "python3-gevent"], "is a server that `snoop` identifies"),
    verify_with("caddy", &["caddy"], "is a server in Go that `snoop` identifies"),
    verify_with("vsftpd", &["vsftpd"], "is a server that `snoop` identifies"),
    verify_with("inetutils-inetd", &["inetutils-inetd"], "is a server that `snoop` identifies"),
    verify_with("unbound", &["unbound"], "is a server that `snoop` identifies"),
    verify_with("php-fpm8.2", &["php-fpm"], "is a server that `snoop` identifies"),
    verify_with("uwsgi", &["uwsgi-core", "uwsgi-plugin-python3"], "is a server that `snoop` identifies"),
    verify_with("varnishd", &["varnish"], "is a server that `snoop` identifies"),
    verify_with("node", &["nodejs"], "is a server that `snoop` identifies"),
    verify_with("named", &["bind9"], "is a server that `snoop` identifies"),
    verify_with("tinyproxy", &["tinyproxy"], "is a server that `snoop` identifies"),
    verify_with("stunnel4", &["stunnel4"], "is a server that `snoop` identifies"),
    verify_with("mosquitto", &["mosquitto"], "is a server that `snoop` identifies"),
    verify_with("nats-server", &["nats-server"], "is a server that `snoop` identifies"),
    verify_with("erlc", &["erlang-base"], "is a server that `snoop` identifies"),
    verify_with("puma", &["puma"], "is a server that `snoop` identifies"),
    verify_with("java", &["default-jdk-headless"], "is a server that `snoop` identifies"),
    verify_with("rsync", &["rsync"], "is a server that `snoop` identifies"),
];

/// Installs missing programs as root on a Debian system; otherwise advises which to install. That is a
/// failure only where nothing works without them.
pub(crate) fn install(wanted: For) -> Result<(), AnyError> {
    let missing: Vec<&Need> =
        NEEDS.iter().filter(|need| need.wanted <= wanted && !exists(need.program)).collect();
    if missing.is_empty() {
        println!("everything is there");
        return Ok(());
    }
    for need in &missing {
        println!("missing: {}, which {}", need.program, need.why);
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    if !(exists("apt-get") && is_root()) {
        let advice = format!("install {} and run this again", packages.join(" "));
        if missing.iter().any(|need| need.is_vital) {
            return Err(advice.into());
        }
        println!("tests that need them are skipped; {advice}");
        return Ok(());
    }
    show(program("apt-get").args(["-qq", "update"]))?;
    let install = ["-qq", "install", "--yes", "--no-install-recommends"];
    let mut command = program("apt-get");
    // A server is wanted as a program and not as a service: in run level 1 none is started by its
    // installation.
    command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    show(command.args(install).args(packages))
}

fn is_root() -> bool {
    read(program("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
