#!/bin/bash
# Stand-ins for the base images of deploy/Dockerfile and docker-compose.yml, made of Debian's packages: for a
# machine that reaches no image registry. As root on Debian; DOCKER_HOST names the engine; the first word is the
# folder of the files. Prints the path of Compose 2. Python 3.13, Postgres 17 with pgvector and Valkey 8 stand in for
# python:3.13-slim-trixie, pgvector/pgvector:0.8.1-pg18-trixie and redis:8.2-bookworm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); mkdir -p "$1"; cd "$1"
log=$PWD/stand_ins.log
exec 3>&1 >"$log" 2>&1
command -v debootstrap || { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap; }
mirror=$(grep -rhoE --include='*.list' --include='*.sources' '^(URIs:|deb( \[[^]]*\])?) *[^ ]+' /etc/apt \
  | awk '/\/debian\/?$/ {print $NF; exit}')
make_root() { # FOLDER PACKAGES
  [ -e "$1/.ready" ] && return
  rm -rf "$1"
  debootstrap --variant=minbase --include="$2" trixie "$1" "$mirror"
  rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/usr/share/doc "$1"/usr/share/man
  touch "$1/.ready"
}
make_root python python3,python3-venv,python3-pip,ca-certificates
make_root servers postgresql,postgresql-17-pgvector,valkey-server
ln -sf python3 python/usr/bin/python; ln -sf pip3 python/usr/bin/pip; rm -f python/usr/lib/python3.*/EXTERNALLY-MANAGED
cp /etc/ssl/certs/ca-certificates.crt python/etc/ssl/certs/
printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >python/etc/pip.conf
if [ ! -d compose ]; then
  chroot servers sh -c 'apt-get update -qq && cd /tmp && apt-get download -qq docker-compose'
  dpkg -x servers/tmp/docker-compose*.deb compose; rm -f servers/tmp/*.deb
fi
tar -C python -c . | docker import - python:3.13-slim-trixie
tar -C servers -c . | docker import - stand-in/servers:1
export DOCKER_BUILDKIT=0
docker build --network none -t redis:8.2-bookworm - <<'D'
FROM stand-in/servers:1
RUN ln -sf /usr/bin/valkey-server /usr/local/bin/redis-server \
 && ln -sf /usr/bin/valkey-cli /usr/local/bin/redis-cli \
 && mkdir -p /data && chown 999:999 /data
WORKDIR /data
D
mkdir -p postgres; cp "$here/postgres-entrypoint.sh" postgres/docker-entrypoint.sh
cat >postgres/Dockerfile <<'D'
FROM stand-in/servers:1
RUN usermod -u 999 postgres && groupmod -g 999 postgres \
 && mkdir -p /var/lib/postgresql /run/postgresql && chown -R 999:999 /var/lib/postgresql /run/postgresql \
 && ln -sf /usr/lib/postgresql/17/bin/pg_isready /usr/local/bin/pg_isready
COPY docker-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
RUN chmod +x /usr/local/bin/docker-entrypoint.sh
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
D
docker build --network none -t pgvector/pgvector:0.8.1-pg18-trixie postgres
echo "$PWD/compose/usr/libexec/docker/cli-plugins/docker-compose" >&3
