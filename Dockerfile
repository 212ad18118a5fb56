# The bot alone: no playground, no build tools, no shell scripts. For amd64 and arm64: every package of uv.lock has a wheel
# for both, so nothing is compiled.

# Debian 13 with Python 3.14 and pip; 3.11 to 3.14 are supported. A mirror of yours:
# --build-arg BASE=registry.example.com/python:3.14-slim-trixie. Releases name the base by its digest (scripts/release.py).
ARG BASE=python:3.14-slim-trixie
FROM ${BASE} AS build

RUN pip install --no-cache-dir --disable-pip-version-check uv==0.13.8
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /build

# Dependencies first, with the hashes of uv.lock: this layer changes only when the lock does.
COPY pyproject.toml uv.lock ./
ENV UV_PROJECT_ENVIRONMENT=/opt/quartermaster
RUN uv sync --frozen --no-dev --no-install-project

COPY README.md LICENSE NOTICE ./
COPY bot bot
COPY handlers handlers
COPY jobs jobs
RUN uv sync --frozen --no-dev --no-editable


FROM ${BASE}

# ssh-keygen makes the keys of runs on several nodes.
RUN apt-get update \
    && apt-get install -y --no-install-recommends openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin quartermaster \
    && install -d -o 10001 -g 10001 /var/lib/quartermaster
COPY --from=build /opt/quartermaster /opt/quartermaster
ENV PATH=/opt/quartermaster/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

USER 10001:10001
WORKDIR /var/lib/quartermaster
VOLUME /var/lib/quartermaster
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
ENTRYPOINT ["quartermaster"]
CMD ["serve", "--config", "/etc/quartermaster/quartermaster.yaml"]
