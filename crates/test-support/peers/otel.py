"""Runs rotel, an OpenTelemetry collector, which writes every span that it receives to a file.

OTEL_HTTP and OTEL_GRPC are the addresses to listen on, OTEL_LOG is the file. The first line of output is
a JSON object with the address for spans. The process ends when its input does.
"""

import json
import os
import pathlib
import subprocess
import sys

import rotel

program = pathlib.Path(rotel.__file__).with_name("rotel-agent")
with open(os.environ["OTEL_LOG"], "wb") as log:
    collector = subprocess.Popen(
        [program, "start", "--exporter", "blackhole", "--debug-log", "traces",
         "--debug-log-verbosity", "detailed", "--otlp-http-endpoint", os.environ["OTEL_HTTP"],
         "--otlp-grpc-endpoint", os.environ["OTEL_GRPC"]],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
    )
print(json.dumps({"otlp": "http://" + os.environ["OTEL_HTTP"]}), flush=True)
sys.stdin.read()
collector.kill()
collector.wait()
