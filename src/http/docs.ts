/** /docs: the OpenAPI document as a page. It loads nothing from other hosts. */
import page from "../../web/docs/index.html" with { type: "text" };

export const docsPage = (): Response =>
  new Response(String(page), {
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    },
  });
