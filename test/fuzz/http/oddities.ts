/** Headers that are legal but unusual, and texts that are not HTTP. */

export const ODD_HEADERS: readonly string[] = [
  "X-Forwarded-For: 1.2.3.4, 5.6.7.8",
  "X-Forwarded-Host: evil.example.com",
  "X-Forwarded-Proto: javascript",
  "X-Parley-App: unknown",
  "X-HTTP-Method-Override: DELETE",
  "Origin: https://evil.example.com",
  "Cookie: a=b",
  `X-Long: ${"x".repeat(8000)}`,
  "Accept: text/html, */*;q=0.1",
  "Accept-Encoding: gzip, br",
  "Range: bytes=0-9",
  "Range: bytes=9-0,-5,x",
  "If-None-Match: *",
  "Connection: keep-alive, Upgrade",
  "Upgrade: h2c",
  "X-Request-Id: ../../x",
  "Content-Encoding: gzip",
  "Expect: 100-continue",
  "Te: trailers",
  `Accept-Language: ${"é".repeat(20)}`,
];

const NO_METHODS = ["get", "X", "", "G ET", "PROPFIND", "CONNECT"];

export function illegalTexts(method: string, path: string, host: string): readonly string[] {
  const head = `Host: ${host}`;
  const line = `${method} ${path} HTTP/1.1`;
  return [
    `${line}\r\n${head}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{"a":`,
    `${line}\r\n${head}\r\nContent-Length: -1\r\n\r\n`,
    `${line}\r\n${head}\r\nContent-Length: 99999999999999999999\r\n\r\n{}`,
    `${line}\r\n${head}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${line}\r\n${head}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
    `${line}\r\n${head}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n`,
    `${line}\r\n\r\n`,
    `${line}\r\n${head}\r\n${head}x\r\n\r\n`,
    `${line}\r\n${head}\r\nX Y: z\r\n\r\n`,
    `${line}\r\n${head}\r\nX: \u0000\r\n\r\n`,
    ...NO_METHODS.map((one) => `${one} ${path} HTTP/1.1\r\n${head}\r\n\r\n`),
    `${line}\n${head}\n\n`,
    `${method}\r\n\r\n`,
    `${method} / HTTP/9.9\r\n${head}\r\n\r\n`,
    `${method} * HTTP/1.1\r\n${head}\r\n\r\n`,
    `GET /${"x".repeat(70_000)} HTTP/1.1\r\n${head}\r\n\r\n`,
    `${line}\r\n${head}\r\n${"X: y\r\n".repeat(300)}\r\n`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
  ];
}
