# Builds the release binary and puts it, with the libraries it needs and nothing else, into a small image.
#   docker build -t callgate . && docker run --rm -p 8080:8080 --env-file callgate.env callgate

FROM swift:6.3-bookworm AS build
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends libssl-dev libcurl4-openssl-dev libpq-dev libsqlite3-0 pkg-config \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift ./
RUN swift package resolve
COPY Sources ./Sources
# The test folders are named in Package.swift and must exist; their content is not needed.
RUN for target in $(sed -n 's/.*name: "\([A-Za-z]*Tests\)".*/\1/p' Package.swift); do \
    mkdir -p "Tests/$target" && touch "Tests/$target/Empty.swift"; done
RUN swift build -c release --static-swift-stdlib --product callgate \
  && install -Ds "$(swift build -c release --static-swift-stdlib --show-bin-path)/callgate" /out/callgate

FROM debian:bookworm-slim
RUN apt-get update -qq \
  && apt-get install -y -qq --no-install-recommends ca-certificates libcurl4 libpq5 libsqlite3-0 libssl3 tzdata \
  && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/callgate /usr/local/bin/callgate
USER 10001:10001
WORKDIR /tmp
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s CMD ["/usr/local/bin/callgate", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/callgate"]
CMD ["serve"]
