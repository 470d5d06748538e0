// The MCP client of the TypeScript SDK, which Claude Code, Cursor, VS Code and mcp-remote are built on: prints the
// address to sign in at, reads where that ended.
//
// Usage: node client_ts.mjs SDK_FOLDER MCP_URL. It imports nothing of this project.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, address] = process.argv.slice(2);
const part = (name) => import(pathToFileURL(`${folder}/dist/esm/client/${name}.js`).href);
const { Client } = await part("index");
const { UnauthorizedError } = await part("auth");
const { StreamableHTTPClientTransport } = await part("streamableHttp");

const redirect = "http://127.0.0.1:53683/callback";
const kept = {};
const provider = {
  redirectUrl: redirect,
  clientMetadata: {
    client_name: "Client in TypeScript",
    redirect_uris: [redirect],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  redirectToAuthorization: (where) => console.log(where.href),
};

const transport = () => new StreamableHTTPClientTransport(new URL(address), { authProvider: provider });
const client = () => new Client({ name: "client-ts", version: "1" });

const first = transport();
try {
  await client().connect(first);
  throw new Error("it was let in without a sign-in");
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
const lines = createInterface({ input: process.stdin });
const { value: ended } = await lines[Symbol.asyncIterator]().next();
lines.close();
await first.finishAuth(new URL(ended).searchParams.get("code"));

// An access token that has ended: the SDK hears 401, refreshes and asks again.
kept.tokens = { ...kept.tokens, access_token: "ended" };
const connected = client();
await connected.connect(transport());
const { tools } = await connected.listTools();
let progress = 0;
const answer = await connected.callTool(
  { name: "health_query", arguments: { collection: "daily_sleep", start: "2026-02-02", end: "2026-02-08" } },
  undefined,
  { onprogress: () => void progress++ },
);
console.log(
  JSON.stringify({
    server: connected.getServerVersion().name,
    tools: tools.map((tool) => tool.name),
    error: answer.isError ?? false,
    complete: answer.structuredContent.complete,
    progress,
  }),
);
await connected.close();
