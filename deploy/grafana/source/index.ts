// Every dashboard, by the name of its file.
import { operations } from "./operations.js";
import { sessions } from "./sessions.js";

export const dashboards = { operations: operations(), sessions: sessions() };
