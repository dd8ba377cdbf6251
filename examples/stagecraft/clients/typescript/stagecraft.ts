// A Kubernetes in memory for tests in TypeScript: starts `stagecraft serve`, and stops it.
//
//   const cluster = await serve('--load', 'crds/');
//   config.loadFromFile(cluster.kubeconfig);
//   await cluster.stop();
//
// The program is that of the variable STAGECRAFT, or stagecraft of the PATH. It ends with this process: the pipe
// to its standard input closes. Works with Node.js 20 and newer, and needs no package.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Cluster {
  kubeconfig: string; // a file
  url: string;
  stop(): Promise<void>;
}

// serve serves a cluster. Flags are those of `stagecraft serve`. It fails with what the program said if it ends
// before the server answers.
export async function serve(...flags: string[]): Promise<Cluster> {
  const program = process.env.STAGECRAFT ?? 'stagecraft';
  const child = spawn(program, ['serve', '--until-stdin-closes', '--output', 'json', ...flags], { stdio: 'pipe' });
  let said = '';
  child.stderr.on('data', (data) => (said += data));
  const ended = new Promise<void>((done, failed) => {
    child.on('error', failed); // no such program
    child.on('close', () => done());
  });
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, 'line').then(([text]) => text as string), ended]);
  if (typeof line !== 'string') {
    throw new Error(said);
  }
  const { kubeconfig, url } = JSON.parse(line);
  return {
    kubeconfig,
    url,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
