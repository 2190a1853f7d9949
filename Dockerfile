# Builds the release binary and puts it, with the libraries it needs and nothing else, into a small image.
#
#   docker build -t callgate --build-arg "REVISION=$(git rev-parse HEAD)" --build-arg "SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)" .
#   docker run --rm -p 8080:8080 --env-file callgate.env -v callgate:/data --read-only --cap-drop ALL \
#     --security-opt no-new-privileges --stop-timeout 40 callgate
#
# Podman's default format, OCI, has no health check:
#
#   podman build --format docker -t callgate .
#
# Only what every builder understands. Heroku's and buildah: no cache mounts, no here-documents, no --link, no --chmod.
# Railway's: no VOLUME. Podman's on Debian: images by their full names.
# The versions of Debian's packages are the newest of the stable release, so that each build has their security updates.

FROM docker.io/library/swift:6.3-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends libssl-dev libcurl4-openssl-dev libpq-dev libsqlite3-0 libyaml-dev pkg-config \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Dependencies change seldom: a layer of their own.
COPY Package.swift ./
RUN swift package resolve
COPY Sources ./Sources
# The folders of tests and their helpers are named in Package.swift and must exist, with a source in each; their content is
# not needed.
# hadolint ignore=SC2013
RUN for folder in $(sed -n -e 's,.*name: "\([A-Za-z]*Tests\)".*,Tests/\1,p' -e 's,.*path: "\(Tests/[A-Za-z/]*\)".*,\1,p' Package.swift); do \
    mkdir -p "$folder" && touch "$folder/Empty.swift"; done
ARG REVISION=unknown
# Without a value it is no variable: clang takes nothing but a number.
ARG SOURCE_DATE_EPOCH
RUN version=$(swift --version 2>/dev/null) && version=${version#*Swift version } \
  && export CALLGATE_SWIFT="${version%% *}" CALLGATE_REVISION="$REVISION" \
  && swift build -c release --static-swift-stdlib --product callgate \
  && install -Ds "$(swift build -c release --static-swift-stdlib --show-bin-path)/callgate" /out/callgate

FROM docker.io/library/debian:bookworm-slim
# The user is for libraries that look up who runs them; it has no shell and no files. Platforms that run images as a user of
# their own choice (Heroku, OpenShift) can write /data too.
# hadolint ignore=DL3008
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends ca-certificates libcurl4 libpq5 libsqlite3-0 libssl3 libyaml-0-2 tzdata \
  && apt-get clean \
  && rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/log/apt /var/log/*.log \
  && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin callgate \
  && install -d -m 1777 /data
COPY --from=build /out/callgate /usr/local/bin/callgate
# A number: Kubernetes' runAsNonRoot cannot look names up.
USER 10001:10001
# The default configuration has its SQLite file here. Mount a volume: without one, the file is lost with the container.
WORKDIR /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/usr/local/bin/callgate", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/callgate"]
CMD ["serve"]
# Last, since they differ with every build.
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Callgate" \
  org.opencontainers.image.description="Holds a Talkdesk credential and vends tokens and callbacks by business rules." \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}" \
  org.opencontainers.image.source="${SOURCE}"
