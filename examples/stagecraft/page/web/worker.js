// The worker of the page: it runs the program in WebAssembly, so that the page answers keys while the program computes.
// It takes {module} once: a compiled module, or null if the program follows as {part}s (gzip, base64; the last one is
// null). Then it takes {request}s.
"use strict";

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

let parts; // takes the bytes of the program
const packed = new ReadableStream({ start(controller) { parts = controller; } });

// compile compiles the program while its parts arrive.
function compile() {
  const stream = packed.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "Content-Type": "application/wasm" } }));
}

async function start(compiled) {
  const go = new Go();
  go.env = { GOGC: "400" }; // answers are short, and leave garbage
  const module = compiled || (await compile());
  const instance = await WebAssembly.instantiate(module, go.importObject);
  go.run(instance).then(() => postMessage({ failed: "the program has ended" }));
  postMessage({ module });
}

onmessage = ({ data }) => {
  if (data.module !== undefined) {
    start(data.module).catch((e) => postMessage({ failed: String(e) }));
    return;
  }
  if (data.part !== undefined) {
    if (data.part) parts.enqueue(bytesOf(data.part));
    else parts.close();
    return;
  }
  try {
    postMessage({ answer: stagecraft(data.request) });
  } catch (e) {
    postMessage({ failed: String(e) });
  }
};
