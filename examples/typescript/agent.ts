// An agent that keeps its conversation in Holdfast, and may be killed at any moment.
//
//   node dist/agent.js ADDRESS SESSION [TURNS] [CRASH_IN_TURN]
//
// Every request id is made from the agent's secret, the session, the lease's epoch and the step. An
// agent that is started again sends the same requests: what has been done is answered as it was, the
// rest is done now. A turn of an epoch that has passed was abandoned, so it is begun anew.
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { createHash, randomUUID } from "crypto";
import { readFileSync } from "fs";
import { setTimeout as sleep } from "timers/promises";
import type { ProtoGrpcType } from "./gen/session_service";
import type { SessionServiceClient } from "./gen/holdfast/v1/SessionService";

const LEASE_SECONDS = 30;
const PATIENCE_MS = 60_000;
const SECRET = process.env.HOLDFAST_AGENT_SECRET; // random, and as private as the lease token
if (!SECRET) throw new Error("HOLDFAST_AGENT_SECRET is not set");
// Codes under which a lease that was not renewed now may be renewed later.
const LATER = [grpc.status.UNAVAILABLE, grpc.status.DEADLINE_EXCEEDED,
  grpc.status.RESOURCE_EXHAUSTED, grpc.status.CANCELLED, grpc.status.INTERNAL];
const HOLDER = { holder: "example agent", leaseTtl: { seconds: LEASE_SECONDS } };
const protos = process.env.PROTOS ?? `${__dirname}/../../../protos`;
const loaded = loadSync("holdfast/v1/session_service.proto",
  { includeDirs: [protos], longs: String, enums: String, defaults: true, oneofs: true });
const { holdfast } = grpc.loadPackageDefinition(loaded) as unknown as ProtoGrpcType;
// The library sets time limits and repeats calls, as the service config says.
const retries = readFileSync(`${protos}/holdfast/v1/service_config.json`, "utf8");

// Sends a request, again and again as it is while the server is away or busy.
async function send<Request, Reply>(
  method: (request: Request, done: grpc.requestCallback<Reply>) => unknown,
  request: Request,
): Promise<Reply> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await new Promise<Reply>((resolve, reject) => {
        method(request, (error, reply) => (error ? reject(error) : resolve(reply as Reply)));
      });
    } catch (error) {
      const { code, metadata } = error as grpc.ServiceError;
      const details = metadata.get("grpc-status-details-bin");
      const again = code === grpc.status.UNAVAILABLE || code === grpc.status.DEADLINE_EXCEEDED ||
        (code === grpc.status.RESOURCE_EXHAUSTED && details.length === 0) ||
        details.some((text) => text.includes("LEASE_HELD"));
      if (!again || Date.now() > end) throw error;
      await sleep(500);
    }
  }
}

class Agent {
  private token = "";
  private epoch = "0";
  done = 0; // turns; each adds two messages
  private beat?: NodeJS.Timeout;

  constructor(private stub: SessionServiceClient, private session: string) {}

  private idOf(step: string): string {
    const hex = createHash("sha256")
      .update(`${SECRET}/${this.session}/${this.epoch}/${step}`).digest("hex");
    const [a, b, c, d, e] = [[0, 8], [8, 12], [13, 16], [17, 20], [20, 32]]
      .map(([begin, end]) => hex.slice(begin, end));
    return `${a}-${b}-8${c}-8${d}-${e}`;
  }

  async start(): Promise<void> {
    const created = await send(this.stub.createSession.bind(this.stub), { ...HOLDER,
      requestId: this.idOf("create"), sessionId: this.session,
      manifest: { mode: "MODE_ASK" as const, projectRoot: "/home/ada/project" } });
    // With the current token a resume changes nothing and returns the state of the session. Once
    // another grant has been made the create returns no token, and the resume gets a new one.
    const resumed = await send(this.stub.resumeSession.bind(this.stub), { ...HOLDER,
      requestId: randomUUID(), sessionId: this.session, leaseToken: created.leaseToken });
    this.token = resumed.leaseToken;
    this.epoch = String(resumed.session?.lease?.epoch);
    this.done = Math.floor(Number(resumed.session?.messageCount) / 2);
    console.log(`agent: ${resumed.session?.messageCount} messages are there`);
    const leases = [{ sessionId: this.session, leaseToken: this.token }];
    this.beat = setInterval(async () => {
      try {
        const { failures } = await send(this.stub.renewLeases.bind(this.stub), { leases });
        // The call succeeds whatever becomes of a lease.
        const { code = 0, message = "" } = failures?.[0]?.status ?? {};
        if (code !== 0 && !LATER.includes(code)) throw new Error(`the lease is lost: ${message}`);
      } catch (error) {
        console.error("agent:", error);
        process.exit(1); // nothing it does from now on would count
      }
    }, LEASE_SECONDS * 1000 / 3);
  }

  async takeTurn(number: number, crash: boolean): Promise<void> {
    const common = { sessionId: this.session, leaseToken: this.token };
    const { turn, epoch } = await send(this.stub.beginTurn.bind(this.stub),
      { ...common, requestId: this.idOf(`begin ${number}`), source: "TURN_SOURCE_USER" as const });
    if (epoch !== this.epoch) throw new Error("a turn of another epoch has been abandoned");
    const kind = "JOURNAL_KIND_TOOL_INTENT" as const;
    await send(this.stub.appendJournal.bind(this.stub),
      { ...common, entries: [{ turn, number: 1, kind, ref: "look" }] });
    if (crash) process.kill(process.pid, "SIGKILL");
    const messages = ["user", "assistant"].map((role) =>
      ({ role, data: Buffer.from(JSON.stringify(`${role} in turn ${number}`)) }));
    await send(this.stub.commitTurn.bind(this.stub), { ...common, messages, turn, lastEntry: 1,
      requestId: this.idOf(`commit ${number}`), outcome: "TURN_OUTCOME_OK" as const });
  }

  stop = (): void => clearInterval(this.beat);
}

async function main([address, session, turns, crashIn]: string[]): Promise<void> {
  const agent = new Agent(new holdfast.v1.SessionService(address, grpc.credentials.createInsecure(),
    { "grpc.service_config": retries }), session);
  await agent.start();
  for (let n = agent.done + 1; n <= Number(turns ?? 5); ++n) {
    await agent.takeTurn(n, n === Number(crashIn ?? 0));
  }
  agent.stop();
  console.log("agent: done");
}
main(process.argv.slice(2));
