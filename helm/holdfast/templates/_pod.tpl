{{/* The server's pod, the migration's container, and what both share. */}}

{{- define "holdfast.podSecurityContext" -}}
{{- $own := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault")
    "fsGroupChangePolicy" "OnRootMismatch" -}}
{{- toYaml (mergeOverwrite $own (deepCopy .Values.podSecurityContext)) -}}
{{- end -}}

{{- define "holdfast.securityContext" -}}
{{- $fixed := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true
    "runAsNonRoot" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.securityContext) $fixed) -}}
{{- end -}}

{{/* What a secret that was changed changes too: names, and resource versions where the cluster can
     be asked. A digest of the secret itself would help to guess it. */}}
{{- define "holdfast.secretVersions" -}}
{{- $root := . -}}
{{- $database := .Values.store.postgres -}}
{{- $ca := include "holdfast.ca" . | fromYaml -}}
{{- $seen := list .Values.restartToken -}}
{{- if eq .Values.store.kind "postgres" -}}
{{- $owner := list -}}
{{- if eq .Values.migration.mode "initContainer" -}}
{{- $owner = list (include "holdfast.ownerPassword" . | fromYaml).existingSecret
    .Values.migration.clientCertificate.existingSecret -}}
{{- end -}}
{{- range concat (list $database.password.existingSecret $database.clientCertificate.existingSecret
    $ca.existingSecret) $owner -}}
{{- if . -}}
{{- $found := lookup "v1" "Secret" $root.Release.Namespace . -}}
{{- $seen = append $seen (printf "%s %s" . (dig "metadata" "resourceVersion" "" ($found | default dict))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- join "\n" $seen -}}
{{- end -}}

{{/* A volume of one key of a secret: (dict "name" NAME "secret" SECRET "key" KEY "path" PATH). */}}
{{- define "holdfast.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
    {{- with .key }}
    items:
      - key: {{ . }}
        path: {{ $.path }}
    {{- end }}
{{- end -}}

{{- define "holdfast.passwordVolume" -}}
{{- if and .password.existingSecret (eq .password.from "file") -}}
{{- include "holdfast.secretVolume" (dict "name" (printf "%spassword" .mount)
    "secret" .password.existingSecret "key" .password.key "path" "password") -}}
{{- end -}}
{{- end -}}

{{- define "holdfast.passwordVariable" -}}
{{- if and .password.existingSecret (eq .password.from "env") -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .password.existingSecret }}
      key: {{ .password.key }}
{{- end -}}
{{- end -}}

{{/* Mounts of a program that uses the database: (dict "root" ROOT "mount" PREFIX "password" PASSWORD
     "certificate" SECRET). */}}
{{- define "holdfast.databaseMounts" -}}
{{- $ca := include "holdfast.ca" .root | fromYaml -}}
{{- $folders := list -}}
{{- if and .password.existingSecret (eq .password.from "file") -}}
{{- $folders = append $folders (printf "%spassword" .mount) -}}
{{- end -}}
{{- if .certificate -}}{{- $folders = append $folders (printf "%scertificate" .mount) -}}{{- end -}}
{{- if or $ca.existingSecret $ca.existingConfigMap -}}{{- $folders = append $folders "ca" -}}{{- end -}}
{{- range $folders }}
- name: {{ . }}
  mountPath: /etc/holdfast-secrets/{{ . }}
  readOnly: true
{{- end -}}
{{- end -}}

{{/* The same volumes. */}}
{{- define "holdfast.databaseVolumes" -}}
{{- include "holdfast.passwordVolume" . }}
{{- with .certificate }}
{{ include "holdfast.secretVolume" (dict "name" (printf "%scertificate" $.mount) "secret" .) }}
{{- end }}
{{- end -}}

{{- define "holdfast.caVolume" -}}
{{- $ca := include "holdfast.ca" . | fromYaml -}}
{{- if $ca.existingSecret -}}
{{ include "holdfast.secretVolume" (dict "name" "ca" "secret" $ca.existingSecret "key" $ca.key "path" "ca.crt") }}
{{- else if $ca.existingConfigMap -}}
- name: ca
  configMap:
    name: {{ $ca.existingConfigMap }}
    items:
      - key: {{ $ca.key }}
        path: ca.crt
{{- end -}}
{{- end -}}

{{- define "holdfast.serving" -}}
{{- $database := .Values.store.postgres -}}
{{- toYaml (dict "mount" "" "password" $database.password "variable" "HOLDFAST_DATABASE_PASSWORD"
    "certificate" $database.clientCertificate.existingSecret) -}}
{{- end -}}

{{- define "holdfast.owner" -}}
{{- toYaml (dict "mount" "owner-" "password" (include "holdfast.ownerPassword" . | fromYaml)
    "variable" "HOLDFAST_OWNER_PASSWORD"
    "certificate" .Values.migration.clientCertificate.existingSecret) -}}
{{- end -}}

{{/* The container that brings the schema up to date. */}}
{{- define "holdfast.migrateContainer" -}}
{{- $owner := include "holdfast.owner" . | fromYaml -}}
- name: migrate
  image: {{ include "holdfast.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [migrate, --config, /etc/holdfast/migrate.yaml]
  {{- with include "holdfast.passwordVariable" $owner }}
  env:
    {{- . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "holdfast.securityContext" . | nindent 4 }}
  resources:
    {{- toYaml .Values.migration.resources | nindent 4 }}
  volumeMounts:
    - name: config
      mountPath: /etc/holdfast
      readOnly: true
    {{- include "holdfast.databaseMounts" (merge (dict "root" .) $owner) | trim | nindent 4 }}
{{- end -}}

{{/* A probe: (list ROOT PROBE SERVICE). */}}
{{- define "holdfast.probe" -}}
{{- $root := index . 0 -}}
{{- $probe := index . 1 -}}
{{- $service := index . 2 -}}
{{- if eq $root.Values.probes.kind "exec" -}}
exec:
  command:
    - holdfastd
    - healthcheck
    - --address
    - 127.0.0.1:7420
    {{- if $service }}
    - --service
    - {{ $service }}
    {{- end }}
{{- else -}}
grpc:
  port: 7420
  {{- with $service }}
  service: {{ . }}
  {{- end }}
{{- end }}
periodSeconds: {{ int64 $probe.periodSeconds }}
timeoutSeconds: {{ int64 $probe.timeoutSeconds }}
failureThreshold: {{ int64 $probe.failureThreshold }}
{{- end -}}

{{- define "holdfast.serverContainer" -}}
{{- $database := eq .Values.store.kind "postgres" -}}
{{- $serving := include "holdfast.serving" . | fromYaml -}}
- name: holdfastd
  image: {{ include "holdfast.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [--config, /etc/holdfast/holdfastd.yaml]
  ports:
    - name: grpc
      containerPort: 7420
    {{- if .Values.metrics.enabled }}
    - name: metrics
      containerPort: {{ int64 .Values.metrics.port }}
    {{- end }}
  {{- $password := ternary (include "holdfast.passwordVariable" $serving) "" $database }}
  {{- if or $password .Values.extraEnv }}
  env:
    {{- with $password }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "holdfast.securityContext" . | nindent 4 }}
  resources:
    {{- include "holdfast.resources" . | nindent 4 }}
  startupProbe:
    {{- include "holdfast.probe" (list . .Values.probes.startup "") | nindent 4 }}
  readinessProbe:
    {{- include "holdfast.probe" (list . .Values.probes.readiness "") | nindent 4 }}
  livenessProbe:
    {{- include "holdfast.probe" (list . .Values.probes.liveness "liveness") | nindent 4 }}
  {{- with include "holdfast.preStop" . | int64 }}
  lifecycle:
    preStop:
      sleep:
        seconds: {{ . }}
  {{- end }}
  volumeMounts:
    - name: config
      mountPath: /etc/holdfast
      readOnly: true
    {{- if $database }}
    {{- include "holdfast.databaseMounts" (merge (dict "root" .) $serving) | trim | nindent 4 }}
    {{- else }}
    - name: data
      mountPath: /var/lib/holdfast
    {{- end }}
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "holdfast.volumes" -}}
- name: config
  configMap:
    name: {{ include "holdfast.fullname" . }}-config
{{- if eq .Values.store.kind "postgres" }}
{{ include "holdfast.databaseVolumes" (include "holdfast.serving" . | fromYaml) }}
{{- if eq .Values.migration.mode "initContainer" }}
{{ include "holdfast.databaseVolumes" (include "holdfast.owner" . | fromYaml) }}
{{- end }}
{{ include "holdfast.caVolume" . }}
{{- else if .Values.store.fs.existingClaim }}
- name: data
  persistentVolumeClaim:
    claimName: {{ .Values.store.fs.existingClaim }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "holdfast.spread" -}}
{{- if .Values.topologySpread.constraints -}}
{{ toYaml .Values.topologySpread.constraints }}
{{- else -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- topologyKey: {{ . }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "holdfast.selector" $ | nindent 6 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Where pods run: of the server, of the migration, of the test. */}}
{{- define "holdfast.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The template of the Deployment and of the StatefulSet. */}}
{{- define "holdfast.pod" -}}
{{- $database := eq .Values.store.kind "postgres" -}}
metadata:
  labels:
    {{- include "holdfast.podLabels" (list . "server") | nindent 4 }}
  annotations:
    checksum/config: {{ include "holdfast.configData" . | sha256sum }}
    checksum/secrets: {{ include "holdfast.secretVersions" . | sha256sum }}
    {{- with merge (dict) .Values.podAnnotations .Values.commonAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "holdfast.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "holdfast.gracePeriod" . }}
  securityContext:
    {{- include "holdfast.podSecurityContext" . | nindent 4 }}
  {{- with include "holdfast.placement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if and $database .Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- include "holdfast.spread" . | trim | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- $migrate := and $database (eq .Values.migration.mode "initContainer") }}
  {{- if or $migrate .Values.extraInitContainers }}
  initContainers:
    {{- with .Values.extraInitContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if $migrate }}
    {{- include "holdfast.migrateContainer" . | nindent 4 }}
    {{- end }}
  {{- end }}
  containers:
    {{- include "holdfast.serverContainer" . | nindent 4 }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "holdfast.volumes" . | trim | nindent 4 }}
{{- end -}}

{{/* What the config map holds. */}}
{{- define "holdfast.configData" -}}
holdfastd.yaml: |
  {{- include "holdfast.config" . | trim | nindent 2 }}
{{- if and (eq .Values.store.kind "postgres") (eq .Values.migration.mode "initContainer") }}
migrate.yaml: |
  {{- include "holdfast.migrateConfig" . | trim | nindent 2 }}
{{- end }}
{{- end -}}
