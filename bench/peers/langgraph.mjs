// Drives LangGraph's PostgresSaver for the bench that measures against it (peers_pg.cc). Reads one
// request per line, {"put" | "writes" | "list" | "rows": ...}, and answers each with one line.
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";

const host = process.argv[2];

const savers = new Map(); // by how many calls are in flight: a connection for each of them
async function saverOf(width) {
  if (!savers.has(width)) {
    const options = { host, user: "holdfast", database: "langgraph", max: width };
    const saver = new PostgresSaver(new pg.Pool(options));
    if (savers.size === 0) await saver.setup();
    savers.set(width, saver);
  }
  return savers.get(width);
}

let version = 0;

// A checkpoint of one channel, which is new in it.
async function put(saver, thread, channel, value) {
  const checkpoint = emptyCheckpoint();
  version += 1;
  checkpoint.id = uuid6(version % 0x3fff);
  checkpoint.channel_values = { [channel]: value };
  checkpoint.channel_versions = { [channel]: version };
  const config = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  const metadata = { source: "loop", step: version, parents: {} };
  await saver.put(config, checkpoint, metadata, checkpoint.channel_versions);
}

async function putWrites(saver, thread, bytes) {
  version += 1;
  const config = {
    configurable: { thread_id: thread, checkpoint_ns: "", checkpoint_id: uuid6(version % 0x3fff) },
  };
  await saver.putWrites(config, [["entries", randomBytes(bytes)]], `task-${version}`);
}

// `call(thread)` so often, `width` at a time, each on a thread of its own.
async function drive(width, count, call) {
  const milliseconds = [];
  let left = count;
  const begin = process.hrtime.bigint();
  const worker = async (thread) => {
    while (left > 0) {
      left -= 1;
      const began = process.hrtime.bigint();
      await call(thread);
      milliseconds.push(Number(process.hrtime.bigint() - began) / 1e6);
    }
  };
  const threads = Array.from({ length: width }, (_, at) => `thread-${width}-${at}`);
  await Promise.all(threads.map(worker));
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  milliseconds.sort((a, b) => a - b);
  const at = (percent) => milliseconds[Math.floor(((milliseconds.length - 1) * percent) / 100)];
  return `${seconds} ${at(50)} ${at(99)}`;
}

// A conversation of `messages` messages, which is one channel and so one value.
function listOf(messages, bytes) {
  const text = () => randomBytes(bytes / 2).toString("hex");
  return Array.from({ length: messages }, () => ({ role: "user", content: text() }));
}

const list = new Map();
async function answer(request) {
  const saver = await saverOf(request.width);
  const { width, count, bytes } = request;
  switch (request.do) {
    case "put":
      return drive(width, count, (thread) => put(saver, thread, "state", randomBytes(bytes)));
    case "writes":
      return drive(width, count, (thread) => putWrites(saver, thread, bytes));
    case "list": {
      if (!list.has(request.messages)) list.set(request.messages, listOf(request.messages, bytes));
      const messages = list.get(request.messages);
      return drive(width, count, async (thread) => {
        messages.push(...listOf(2, bytes));
        await put(saver, `list-${thread}`, "messages", messages);
      });
    }
    default:
      throw new Error(`no such request: ${request.do}`);
  }
}

await saverOf(1);
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  console.log(await answer(JSON.parse(line)));
}
