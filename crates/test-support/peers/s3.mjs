// An S3 server on s3rver with one empty bucket, on a free port of the loopback interface.
//
// Environment: S3_MODULES is the folder with the package, S3_FOLDER an empty folder, S3_BUCKET the
// name of the bucket. The first line of output is a JSON object with the address. It ends when its
// input does. The package knows one pair of keys: S3RVER and S3RVER.
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.S3_MODULES}/`);
const S3rver = require('s3rver');
const { S3_FOLDER: directory, S3_BUCKET: name } = process.env;

const server = new S3rver({
  port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets: [{ name }],
});
const { port } = await server.run();
console.log(JSON.stringify({ s3: `http://127.0.0.1:${port}` }));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
