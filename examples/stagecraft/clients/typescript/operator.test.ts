// A test of an operator in TypeScript: for each ConfigMap with the label greet it keeps a Deployment of its name.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import * as k8s from '@kubernetes/client-node';
import { serve } from './stagecraft.ts';

// reconcile brings the Deployment in line with the ConfigMap, by server-side apply.
async function reconcile(objects: k8s.KubernetesObjectApi, settings: k8s.V1ConfigMap): Promise<void> {
  const labels = { app: settings.metadata!.name! };
  const wanted: k8s.V1Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: settings.metadata!.name, namespace: 'default' },
    spec: {
      replicas: Number(settings.data!.replicas),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }] } },
    },
  };
  await objects.patch(wanted, undefined, undefined, 'greeter', true, k8s.PatchStrategy.ServerSideApply);
}

test('the Deployment follows the ConfigMap', async () => {
  const cluster = await serve('--speed', '60'); // a minute of the cluster passes in a second
  const config = new k8s.KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  const core = config.makeApiClient(k8s.CoreV1Api);
  const apps = config.makeApiClient(k8s.AppsV1Api);
  const objects = k8s.KubernetesObjectApi.makeApiClient(config);

  const path = '/api/v1/namespaces/default/configmaps';
  const informer = k8s.makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace: 'default', labelSelector: 'greet' }), 'greet');
  const reconciled: Promise<void>[] = [];
  for (const event of ['add', 'update'] as const) {
    informer.on(event, (settings) => reconciled.push(reconcile(objects, settings)));
  }
  await informer.start();

  const ready = new Promise<void>((done) => {
    const watch = new k8s.Watch(config);
    watch.watch('/apis/apps/v1/namespaces/default/deployments', {}, (_, obj: k8s.V1Deployment) => {
      if (obj.status?.readyReplicas === 2) done();
    }, () => {});
  });
  await core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name: 'web', labels: { greet: 'yes' } }, data: { replicas: '2' } } });
  await ready;
  await Promise.all(reconciled);
  const owner = (await apps.readNamespacedDeployment({ name: 'web', namespace: 'default' })).metadata!.managedFields!.map((f) => f.manager);
  assert.ok(owner.includes('greeter'));
  await informer.stop();
  await cluster.stop();
});

test('a command runs in a container', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rules-'));
  const rules = join(folder, 'rules.yaml'); // kwok's; the command runs on this machine
  await writeFile(rules, '{apiVersion: kwok.x-k8s.io/v1alpha1, kind: ClusterExec, metadata: {name: all}, spec: {execs: [{local: {}}]}}');
  const cluster = await serve('--speed', '60', '--containers', rules, '--run-commands');
  const config = new k8s.KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  const core = config.makeApiClient(k8s.CoreV1Api);
  await core.createNamespacedPod({ namespace: 'default', body: { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'nginx' }] } } });
  while ((await core.readNamespacedPod({ name: 'web', namespace: 'default' })).status?.phase !== 'Running') {
    await new Promise((done) => setTimeout(done, 50));
  }
  const output = new PassThrough();
  const status = await new Promise<k8s.V1Status>((done, failed) => {
    new k8s.Exec(config).exec('default', 'web', 'main', ['sh', '-c', 'echo done; exit 3'], output, null, null, false, done).catch(failed);
  });
  assert.equal(String(output.read()), 'done\n');
  assert.equal(status.details?.causes?.[0]?.message, '3'); // the exit code
  await cluster.stop();
  await rm(folder, { recursive: true });
});

test('serve says what is wrong', async () => {
  await assert.rejects(serve('--speed', '0'), /--speed 0: want more/);
});
