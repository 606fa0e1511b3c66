{{/* Labels of an object; argument: (list . "manager"). */}}
{{- define "tangram.labels" -}}
{{- $root := index . 0 -}}
{{ include "tangram.selector" . }}
app.kubernetes.io/part-of: tangram
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
{{- end }}

{{/* Labels by which Pods of a component are found; they never change. */}}
{{- define "tangram.selector" -}}
app.kubernetes.io/name: tangram
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "tangram.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Head of the Pod's spec that all components have; arguments: (list . "manager" .Values.manager). */}}
{{- define "tangram.podHead" -}}
{{- $root := index . 0 -}}
{{- $values := index . 2 -}}
serviceAccountName: tangram-{{ index . 1 }}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
priorityClassName: {{ $values.priorityClassName }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Replicas of a component on different nodes, where there are as many. */}}
{{- define "tangram.spread" -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "tangram.selector" . | nindent 14 }}
{{- end }}

{{/* What a container of a process that needs nothing of the node may do: nothing. */}}
{{- define "tangram.restricted" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "tangram.schedulerName" -}}
{{- if eq .Values.scheduler.mode "own" }}{{ .Values.scheduler.name }}{{ else }}default-scheduler{{ end -}}
{{- end }}

{{/* Of the own scheduler, or of the cluster's: what it is started with, or what is merged into the file that it has. */}}
{{- define "tangram.schedulerConfiguration" -}}
{{- $scheduler := .Values.scheduler -}}
{{- $own := eq $scheduler.mode "own" -}}
{{- $files := ternary "/etc/tangram" "/etc/kubernetes/tangram" $own -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
{{- if $own }}
leaderElection:
  leaderElect: true
  resourceName: tangram-scheduler
  resourceNamespace: {{ .Release.Namespace }}
profiles:
  - schedulerName: {{ $scheduler.name }}
{{- else }}
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
{{- end }}
extenders:
  - urlPrefix: https://{{ $scheduler.extenderHost | default (printf "tangram-extender.%s.svc" .Release.Namespace) }}
    filterVerb: filter
    prioritizeVerb: prioritize
    bindVerb: bind
    weight: 1
    # Longer than all that a binding may take (20 s); a question is answered within milliseconds.
    httpTimeout: 30s
    enableHTTPS: true
    tlsConfig:
      serverName: tangram-extender.{{ .Release.Namespace }}.svc
      caFile: {{ $files }}/ca.crt
      certFile: {{ $files }}/scheduler.crt
      keyFile: {{ $files }}/scheduler.key
    # Names instead of whole nodes.
    nodeCacheCapable: true
    # A Pod with NPUs is not placed without Tangram; Pods without them never come by.
    ignorable: false
    managedResources:
      {{- range .Values.chips }}
      - {name: huawei.com/{{ . }}, ignoredByScheduler: true}
      - {name: huawei.com/{{ . }}-memory, ignoredByScheduler: true}
      - {name: huawei.com/{{ . }}-core, ignoredByScheduler: true}
      {{- end }}
{{- end }}
