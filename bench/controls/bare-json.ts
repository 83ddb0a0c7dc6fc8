/** The minimum that a JSON service can do: parse the body, respond with a constant of a given size. Usage: bare-json.ts BYTES */
const bytes = Number(process.argv[2]);
const empty = JSON.stringify({ token: "", expiresAt: 1_700_000_000 });
const answer = { token: "x".repeat(bytes - empty.length), expiresAt: 1_700_000_000 };

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    await request.json();
    return Response.json(answer);
  },
});
console.log(JSON.stringify({ url: server.url.origin }));
