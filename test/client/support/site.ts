/** A web site at an origin of its own: the files that it is given, by path. */
export class StaticSite {
  private readonly server: Bun.Server<undefined>;

  constructor(files: Readonly<Record<string, string>>) {
    this.server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        const { pathname } = new URL(request.url);
        const text = files[pathname];
        const type = pathname.endsWith("js") ? "text/javascript" : "text/html; charset=utf-8";
        return text === undefined
          ? new Response("", { status: 404 })
          : new Response(text, { headers: { "Content-Type": type } });
      },
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop(true);
  }
}
