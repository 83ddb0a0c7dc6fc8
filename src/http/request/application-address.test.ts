import { expect, test } from "bun:test";
import { applicationOrigin } from "./application-address.ts";

const SETTINGS = { domain: "localhost", publicUrl: [], adminListen: "", port: 8080, tlsCert: "" };
const here = { origin: "http://127.0.0.1:9000" };

test("an application's address has the scheme and the port of the public address", () => {
  const of = (settings: object, call = here): string => applicationOrigin("shop", { ...SETTINGS, ...settings }, call);
  expect(of({})).toBe("http://shop.localhost:9000");
  expect(of({ domain: "example.com" }, { origin: "https://rt.example.com" })).toBe("https://shop.example.com");
  const publicUrl = ["https://rt.example.com:8443", "http://other"];
  expect(of({ publicUrl, domain: "example.com" })).toBe("https://shop.example.com:8443");
  // The control plane has an address of its own: browsers of others do not come by it.
  expect(of({ adminListen: "127.0.0.1:9000" })).toBe("http://shop.localhost:8080");
  expect(of({ adminListen: "127.0.0.1:9000", tlsCert: "cert.pem", port: 443 })).toBe("https://shop.localhost");
});
