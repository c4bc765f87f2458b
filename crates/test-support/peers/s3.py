"""An S3 server on moto with one empty bucket and one user, whose signatures it verifies.

S3_BUCKET names the bucket. The first line of output is a JSON object with the address, the key of the
user, and the address of a control port, where POST /objects returns all objects in base64. The
process ends when its input does.
"""

import base64
import json
import logging
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

import boto3
from moto.server import ThreadedMotoServer

BUCKET = os.environ["S3_BUCKET"]
POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


def connect(service, key, secret):
    return boto3.client(
        service, endpoint_url=URL, region_name="us-east-1",
        aws_access_key_id=key, aws_secret_access_key=secret,
    )


class Control(BaseHTTPRequestHandler):
    def do_POST(self):
        s3 = connect("s3", KEY["AccessKeyId"], KEY["SecretAccessKey"])
        names = [entry["Key"] for entry in s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]
        bodies = []
        for name in names:
            try:
                bodies.append(s3.get_object(Bucket=BUCKET, Key=name)["Body"].read())
            except s3.exceptions.NoSuchKey:
                pass  # Deleted since it was listed.
        answer = json.dumps({"objects": [base64.b64encode(body).decode() for body in bodies]})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_):
        pass


logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
URL = "http://127.0.0.1:%d" % server.get_host_and_port()[1]
iam = connect("iam", "setup", "setup")
iam.create_user(UserName="agent")
KEY = iam.create_access_key(UserName="agent")["AccessKey"]
iam.put_user_policy(UserName="agent", PolicyName="all", PolicyDocument=json.dumps(POLICY))
connect("s3", "setup", "setup").create_bucket(Bucket=BUCKET)
# From the next request on, every signature is verified.
reset = Request(URL + "/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"})
urlopen(reset).close()

control = ThreadingHTTPServer(("127.0.0.1", 0), Control)
threading.Thread(target=control.serve_forever, daemon=True).start()
print(json.dumps({
    "s3": URL,
    "control": "http://127.0.0.1:%d" % control.server_port,
    "key": KEY["AccessKeyId"],
    "secret": KEY["SecretAccessKey"],
}), flush=True)
sys.stdin.read()
os._exit(0)
