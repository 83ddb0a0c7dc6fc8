/** Parses `s3://[key:secret@]bucket[/prefix]?endpoint=…&region=…`. */
import { StorageError } from "../storage.ts";

export interface S3Address {
  readonly bucket: string;
  /** "", or ends with a slash. */
  readonly prefix: string;
  /** Scheme and host of the service, or of the bucket where it has a host of its own. */
  readonly origin: string;
  /** Path of the bucket where its host does not name it, such as "/bucket"; else "". */
  readonly root: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

const FORM = "s3://bucket/prefix?endpoint=https://host&region=name";
const KNOWN = ["endpoint", "region"];

/** Error messages repeat no part of the address, because it may contain a credential. */
export function parseS3Address(text: string, env: Env): S3Address {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "s3:" || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host))
    throw new StorageError(`it must have the form ${FORM}`);
  const unknown = [...url.searchParams.keys()].find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw new StorageError(`it takes ${KNOWN.join(" and ")} behind the ?, and nothing else`);
  const region = url.searchParams.get("region") ?? env.AWS_REGION ?? "us-east-1";
  return {
    bucket: url.host,
    prefix: prefixOf(url.pathname),
    ...originOf(url.host, region, url.searchParams.get("endpoint") ?? env.AWS_ENDPOINT_URL_S3 ?? ""),
    region,
    ...credentialOf(url, env),
  };
}

function prefixOf(path: string): string {
  const prefix = decodeURIComponent(path).replace(/^\/+|\/+$/g, "");
  return prefix === "" ? "" : `${prefix}/`;
}

/** AWS has a host per bucket; all other services support a path per bucket. */
function originOf(bucket: string, region: string, endpoint: string): Pick<S3Address, "origin" | "root"> {
  if (endpoint === "") return { origin: `https://${bucket}.s3.${region}.amazonaws.com`, root: "" };
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.search !== "")
    throw new StorageError("its endpoint must be an address such as https://s3.example.com");
  return { origin: url.origin, root: `${url.pathname.replace(/\/+$/, "")}/${bucket}` };
}

function credentialOf(
  { username, password }: URL,
  env: Env,
): Pick<S3Address, "accessKeyId" | "secretAccessKey" | "sessionToken"> {
  if (username !== "" && password !== "")
    return {
      accessKeyId: decodeURIComponent(username),
      secretAccessKey: decodeURIComponent(password),
      sessionToken: undefined,
    };
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey)
    throw new StorageError(
      "it needs a credential: s3://KEY:SECRET@bucket…, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
    );
  return { accessKeyId, secretAccessKey, sessionToken: env.AWS_SESSION_TOKEN || undefined };
}
